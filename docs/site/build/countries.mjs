/** The data that the tutorial imports, as the body of one `_bulk_docs`. Documents keep the text that they have, so their revisions are those of the tutorial. */
export function toBulkBody(json) {
  const documents = elementsOf(json).map((text) => {
    const { cca3 } = JSON.parse(text);
    return `{"_id":${JSON.stringify(cca3)},${text.slice(1)}`;
  });
  return `{"docs":[\n${documents.join(',\n')}\n]}`;
}

/** The texts of the objects in a list. */
function elementsOf(json) {
  const found = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{' && depth++ === 0) start = index;
    if (token === '}' && --depth === 0) found.push(json.slice(start, index + 1));
  }
  return found;
}
