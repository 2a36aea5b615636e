// The only requests of the page: to the server that it comes from.

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store" });
  } catch {
    throw new Error("The server does not answer: start subwords show again.");
  }
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

export const getState = () => answer("/api/state", {});

export const ask = (path, request) =>
  answer(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) });
