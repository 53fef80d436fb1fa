/**
 * The text of an INI file: its content, and the same text with one setting changed. A person edits such files, so comments, blank lines,
 * their order and the ends of lines stay as they are (docs/http/server.md#settings). A name or a value that a line can't hold unchanged
 * is written in double quotes, as a JSON string.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Settings } from '../../base/system/contract.ts';

type Line =
  | { readonly kind: 'section'; readonly name: string }
  | { readonly kind: 'setting'; readonly key: string; readonly value: string; readonly comment: string }
  | { readonly kind: 'other' };

/** A comment after a value begins with white space and one of these. */
const COMMENT = /(?<!\s)\s+[;#]/;

/** `file` is for the error. Fails with `bad_request` on a line that is neither a section, a setting, a comment nor blank. */
export function readIni(text: string, file: string): Settings {
  const sections = new Map<string, Map<string, string>>();
  let keys: Map<string, string> | undefined;
  for (const [index, line] of linesOf(text).entries()) {
    const parsed = parseLine(line, `${file}, line ${index + 1}`);
    if (parsed.kind === 'section') {
      keys = sections.get(parsed.name) ?? new Map();
      sections.set(parsed.name, keys);
    } else if (parsed.kind === 'setting') {
      if (keys === undefined) throw unreadable(`${file}, line ${index + 1}`, 'it stands before the first [section]');
      keys.set(parsed.key, parsed.value);
    }
  }
  return Object.fromEntries([...sections].map(([name, values]) => [name, Object.fromEntries(values)]));
}

/**
 * The text with that value in place of the old one, or without the setting if `value` is undefined. A new setting follows the
 * last line of its section that is not a comment or blank; a new section comes last. Fails like `readIni`.
 */
export function editIni(text: string, file: string, section: string, key: string, value: string | undefined): string {
  const lines = linesOf(text);
  const found = findSetting(lines, file, section, key);
  const newline = /\r?\n/.exec(text)?.[0] ?? '\n';
  // If the setting occurs several times the last one applies, so all of them are removed.
  const [last, ...others] = found.places.toReversed();
  const edited = [...lines];
  if (value !== undefined && last !== undefined) edited[last] = withValue(lines[last] ?? '', key, value);
  else if (value !== undefined)
    insert(edited, found.sectionEnd, section, `${quoted(key, KEY)} = ${quoted(value, VALUE)}`);
  for (const place of value === undefined ? found.places.toReversed() : others) edited.splice(place, 1);
  const joined = edited.join(newline);
  return joined === '' || joined.endsWith(newline) ? joined : `${joined}${newline}`;
}

/** Returns the lines without their ends. A newline at the end of the text does not begin another, empty line. */
function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function parseLine(line: string, place: string): Line {
  const text = line.trim();
  if (text === '' || text.startsWith(';') || text.startsWith('#')) return { kind: 'other' };
  if (text.startsWith('[')) return { kind: 'section', name: sectionName(text, place) };
  const [key, rest] = splitSetting(text, place);
  return { kind: 'setting', key, ...splitValue(rest, place) };
}

function sectionName(text: string, place: string): string {
  const quotedName = /^\[\s*("(?:[^"\\]|\\.)*")\s*\]\s*(?:[;#].*)?$/s.exec(text)?.[1];
  if (quotedName !== undefined) return unquote(quotedName, place);
  const name = /^\[([^\]]*)\]\s*(?:[;#].*)?$/s.exec(text)?.[1]?.trim();
  if (name === undefined || name === '') throw unreadable(place, 'a section is written as [name]');
  return name;
}

function splitSetting(text: string, place: string): [key: string, rest: string] {
  const [, quotedKey, behind] = /^("(?:[^"\\]|\\.)*")\s*=(.*)$/s.exec(text) ?? [];
  if (quotedKey !== undefined) return [unquote(quotedKey, place), (behind ?? '').trim()];
  const equals = text.indexOf('=');
  const key = text.slice(0, Math.max(0, equals)).trim();
  if (key === '') throw unreadable(place, 'a setting is written as key = value');
  return [key, text.slice(equals + 1).trim()];
}

function splitValue(rest: string, place: string): { readonly value: string; readonly comment: string } {
  const [, quotedValue, behind] = /^("(?:[^"\\]|\\.)*")(\s*(?:[;#].*)?)$/s.exec(rest) ?? [];
  if (quotedValue !== undefined) return { value: unquote(quotedValue, place), comment: behind ?? '' };
  if (/^[;#]/.test(rest)) return { value: '', comment: ` ${rest}` };
  const at = COMMENT.exec(rest)?.index ?? rest.length;
  return { value: rest.slice(0, at).trim(), comment: rest.slice(at) };
}

function unquote(text: string, place: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw unreadable(place, 'what is in double quotes must be a JSON string, with \\" and \\\\ for " and \\');
  }
}

const SECTION = /[\]"]/;
const KEY = /^[[;#"]|=/;
const VALUE = /^[;#"]|\s[;#]/;
/** Includes line breaks, which would begin another line of the file. */
const CONTROL = /\p{Cc}/u;

function quoted(text: string, needsQuotes: RegExp): string {
  const isPlain = text === text.trim() && !needsQuotes.test(text) && !CONTROL.test(text);
  return isPlain ? text : JSON.stringify(text);
}

/** The line with another value; its white space and comment stay. */
function withValue(line: string, key: string, value: string): string {
  const { comment } = splitValue(splitSetting(line.trim(), '')[1], '');
  const space = comment.trim() !== '' && comment === comment.trimStart() ? ' ' : '';
  const [head = `${quoted(key, KEY)} =`] = /^\s*(?:"(?:[^"\\]|\\.)*"|[^=]*?)\s*=/s.exec(line) ?? [];
  return `${head} ${quoted(value, VALUE)}${space}${comment}`.trimEnd();
}

interface Found {
  /** The lines that contain the setting, by index. */
  readonly places: readonly number[];
  /** After the last setting of the section; undefined if there is no section of that name. */
  readonly sectionEnd: number | undefined;
}

function findSetting(lines: readonly string[], file: string, section: string, key: string): Found {
  const places: number[] = [];
  let sectionEnd: number | undefined;
  let isInside = false;
  for (const [index, line] of lines.entries()) {
    const parsed = parseLine(line, `${file}, line ${index + 1}`);
    if (parsed.kind === 'section') isInside = parsed.name === section;
    if (!isInside || parsed.kind === 'other') continue;
    sectionEnd = index + 1;
    if (parsed.kind === 'setting' && parsed.key === key) places.push(index);
  }
  return { places, sectionEnd };
}

function insert(lines: string[], sectionEnd: number | undefined, section: string, setting: string): void {
  if (sectionEnd !== undefined) {
    lines.splice(sectionEnd, 0, setting);
    return;
  }
  if (lines.length > 0 && lines.at(-1)?.trim() !== '') lines.push('');
  lines.push(`[${quoted(section, SECTION)}]`, setting);
}

function unreadable(place: string, why: string): DatabaseError {
  return new DatabaseError('bad_request', `${place} can't be read: ${why}. Nothing was changed.`);
}
