// What a worker's bundler does: `.wasm` is a module that is compiled, `.bin` its bytes. And a stand-in for the classes of
// @langchain/textsplitters that the guide uses, with its fields and its rule: parts at spaces, as long as they fit.
const STAND_IN = `
export class TextSplitter {
  constructor(fields) { Object.assign(this, { chunkSize: 1000, chunkOverlap: 200, lengthFunction: (text) => text.length }, fields); }
}
export class RecursiveCharacterTextSplitter extends TextSplitter {
  async splitText(text) {
    const parts = [""];
    for (const word of text.split(" ")) {
      const more = (parts.at(-1) + " " + word).trim();
      if (this.lengthFunction(more) <= this.chunkSize) parts[parts.length - 1] = more;
      else parts.push(word);
    }
    return parts;
  }
}`;
const bytes = (url) => `new Uint8Array((await import("node:fs")).readFileSync(new URL("${url}")))`;

export async function resolve(name, context, next) {
  return name === "@langchain/textsplitters" ? { url: "stand-in:", shortCircuit: true } : next(name, context);
}

export async function load(url, context, next) {
  const made = (source) => ({ format: "module", source, shortCircuit: true });
  if (url === "stand-in:") return made(STAND_IN);
  if (url.endsWith(".wasm")) return made(`export default new WebAssembly.Module(${bytes(url)})`);
  return url.endsWith(".bin") ? made(`export default ${bytes(url)}.buffer`) : next(url, context);
}
