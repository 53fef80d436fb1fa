/** From trees to texts. Nothing is converted on the way: each number and string is printed as it was read. */
import { isContainer, type JsonTree, parseJson } from './json-tree.ts';

/** As `JSON.stringify(value, null, 2)` would. */
export function printPretty(tree: JsonTree): string {
  return print(tree, '\n');
}

/** As `JSON.stringify(value)` would. */
export function printCompact(tree: JsonTree): string {
  return print(tree, undefined);
}

/** The text with indentation; a text that is not JSON stays as it is. */
export function prettyJson(text: string): string {
  try {
    return printPretty(parseJson(text));
  } catch {
    return text;
  }
}

/** `newLine`: a line break, and the indentation of what is around the tree. Undefined: all in one line. */
function print(tree: JsonTree, newLine: string | undefined): string {
  if (!isContainer(tree)) return tree.text;
  const [open, close] = tree.kind === 'array' ? ['[', ']'] : ['{', '}'];
  if (tree.entries.length === 0) return open + close;
  const inner = newLine === undefined ? undefined : `${newLine}  `;
  const colon = newLine === undefined ? ':' : ': ';
  const parts = tree.entries.map(
    ({ nameText, value }) => (tree.kind === 'object' ? nameText + colon : '') + print(value, inner),
  );
  return open + (inner ?? '') + parts.join(`,${inner ?? ''}`) + (newLine ?? '') + close;
}
