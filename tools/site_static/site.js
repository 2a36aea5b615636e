// Copy buttons, without the prompts and the output of a session; and what phones need to show a table as blocks.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const lines = block.querySelector("pre").textContent.trimEnd().split("\n");
      const typed = lines.filter((line) => /^(>>>|\.\.\.)/.test(line)).map((line) => line.slice(4));
      await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n"));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
  for (const table of document.querySelectorAll("article table")) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    if (!heads.length || heads.length > 4) continue;
    table.classList.add("narrow");
    for (const row of table.querySelectorAll("tbody tr"))
      [...row.cells].forEach((cell, place) => heads[place] && cell.textContent.trim() && (cell.dataset.label = heads[place]));
  }
});
