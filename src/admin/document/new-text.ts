/** The text that a document begins with. */
export function newText(id: string): string {
  return JSON.stringify({ _id: id }, null, 2);
}
