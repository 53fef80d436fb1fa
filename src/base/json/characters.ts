/** The codes of the characters that JSON text is made of (RFC 8259), for code that goes through a text character by character. */

export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
/** Everything below it is a control character, which may not appear in a string. */
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const SLASH = 0x2f;
export const ZERO = 0x30;
export const EIGHT = 0x38;
const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const UNDERSCORE = 0x5f;
const LOWER_A = 0x61;
export const LOWER_B = 0x62;
export const LOWER_C = 0x63;
export const LOWER_D = 0x64;
export const LOWER_E = 0x65;
export const LOWER_F = 0x66;
export const LOWER_N = 0x6e;
export const LOWER_R = 0x72;
export const LOWER_T = 0x74;
export const LOWER_U = 0x75;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
/** Set in a letter of ASCII, it makes the letter lower case. */
export const LOWER_CASE = 0x20;

/** Returns whether this is white space in JSON. */
export function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;
}

/** Returns whether no number or literal continues with this. NaN is past the text's end. */
export function endsScalar(code: number): boolean {
  return !(code > SPACE) || code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET;
}

export function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

export function isHexDigit(code: number): boolean {
  return isDigit(code) || ((code | LOWER_CASE) >= LOWER_A && (code | LOWER_CASE) <= LOWER_F);
}
