/**
 * Escapes foreign text for a log or a terminal: it must neither begin a new line nor control the reader's terminal.
 * So control characters (C0, DEL, C1), line separators, and characters that change the writing direction are shown as escapes.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, escapeOne);
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeOne(character: string): string {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
