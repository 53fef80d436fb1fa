/**
 * Text of others on its way to a log or a terminal: it must neither begin a line of its own nor steer the terminal of whoever reads it.
 * So control characters (C0, DEL, C1), line separators, and what changes the direction of writing are shown as escapes.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, escapeOne);
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeOne(character: string): string {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
