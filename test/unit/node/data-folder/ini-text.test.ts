import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { editIni, readIni } from '../../../../src/node/data-folder/ini-text.ts';

const read = (text: string) => readIni(text, 'settee.ini');

const edit = (text: string, section: string, key: string, value: string | undefined) =>
  editIni(text, 'settee.ini', section, key, value);

function failureOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof DatabaseError) return `${error.code}: ${error.reason}`;
    throw error;
  }
  return 'it did not fail';
}

const written = `; Ours
[httpd]
port = 8080   ; the old one was taken
# the colleagues' pages
  enable_cors=true

[admins]
anna = -pbkdf2-abc,def,10000

[httpd]
max_connections = 10
`;

describe('reading an INI text', () => {
  test('returns settings by section, without comments and white space', () => {
    expect(read(written)).toEqual({
      httpd: { port: '8080', enable_cors: 'true', max_connections: '10' },
      admins: { anna: '-pbkdf2-abc,def,10000' },
    });
  });

  test('returns the last of several values', () => {
    expect(read('[a]\nk = 1\n[b]\n[a]\nk = 2\n')).toEqual({ a: { k: '2' }, b: {} });
  });

  test('accepts other styles: no spaces, no value, a byte order mark, Windows line ends', () => {
    expect(read('\ufeff[a]\r\nk=1\r\nempty =\r\nlist = [0, 60, 300]\r\n')).toEqual({
      a: { k: '1', empty: '', list: '[0, 60, 300]' },
    });
    expect(read('')).toEqual({});
  });

  test('reads quoted values as JSON, and a comment sign without white space before it as part of the value', () => {
    expect(read('[ "a]b" ]\n"k=1" = " v " ; really\nurl = http://x/#y;z\nhalf = "a" b\nnone = ; nothing\n')).toEqual({
      'a]b': { 'k=1': ' v ', url: 'http://x/#y;z', half: '"a" b', none: '' },
    });
  });

  test.each([
    ['k = 1', "settee.ini, line 1 can't be read: it stands before the first [section]"],
    ['[a]\nsome words', "settee.ini, line 2 can't be read: a setting is written as key = value"],
    ['[a]\n= 1', "settee.ini, line 2 can't be read: a setting is written as key = value"],
    ['\n[a', "settee.ini, line 2 can't be read: a section is written as [name]"],
    ['[]', "settee.ini, line 1 can't be read: a section is written as [name]"],
    ['[a]\nk = "\\q"', "settee.ini, line 2 can't be read: what is in double quotes must be a JSON string"],
  ])('reports the line of an error in %j', (text, message) => {
    expect(failureOf(() => read(text))).toContain(`bad_request: ${message}`);
  });
});

describe('editing an INI text', () => {
  test('changes one line, and keeps its comment', () => {
    expect(edit(written, 'httpd', 'port', '9090')).toBe(
      written.replace('port = 8080   ; the old one was taken', 'port = 9090   ; the old one was taken'),
    );
    expect(edit(written, 'httpd', 'enable_cors', 'false')).toBe(
      written.replace('  enable_cors=true', '  enable_cors= false'),
    );
  });

  test('adds to the end of the last section of that name', () => {
    expect(edit(written, 'httpd', 'allow_jsonp', 'true')).toBe(`${written}allow_jsonp = true\n`);
    expect(edit(written, 'admins', 'bert', 'x')).toBe(written.replace(',10000\n', ',10000\nbert = x\n'));
  });

  test('adds a section at the end', () => {
    expect(edit(written, 'log', 'level', 'debug')).toBe(`${written}\n[log]\nlevel = debug\n`);
    expect(edit('', 'log', 'level', 'debug')).toBe('[log]\nlevel = debug\n');
    expect(edit('; mine', 'log', 'level', 'debug')).toBe('; mine\n\n[log]\nlevel = debug\n');
  });

  test('removes one line only', () => {
    expect(edit(written, 'admins', 'anna', undefined)).toBe(written.replace('anna = -pbkdf2-abc,def,10000\n', ''));
    expect(edit(written, 'admins', 'bert', undefined)).toBe(written);
  });

  test('keeps one of several lines of a setting, and none if it is removed', () => {
    const text = '[a]\nk = 1 ; first\nm = 0\n[b]\n[a]\nk = 2 ; last\n';
    expect(edit(text, 'a', 'k', '3')).toBe('[a]\nm = 0\n[b]\n[a]\nk = 3 ; last\n');
    expect(edit(text, 'a', 'k', undefined)).toBe('[a]\nm = 0\n[b]\n[a]\n');
  });

  test('keeps the ends of lines', () => {
    expect(edit('[a]\r\nk = 1\r\n', 'a', 'l', '2')).toBe('[a]\r\nk = 1\r\nl = 2\r\n');
    expect(edit('[a]\nk = 1', 'a', 'l', '2')).toBe('[a]\nk = 1\nl = 2\n');
  });

  test('quotes what a line could not hold unquoted', () => {
    const text = edit(edit('', 'a]b', 'k=1', ' v '), 'a]b', ';c', 'x ;y');
    expect(text).toBe('["a]b"]\n"k=1" = " v "\n";c" = "x ;y"\n');
    expect(read(text)).toEqual({ 'a]b': { 'k=1': ' v ', ';c': 'x ;y' } });
    expect(edit('[a]\nk = "v";c\n', 'a', 'k', 'w')).toBe('[a]\nk = w ;c\n');
  });

  test("fails for a text that can't be read", () => {
    expect(failureOf(() => edit('[a]\nsome words\n', 'a', 'k', '1'))).toContain('settee.ini, line 2');
  });
});

describe('any sequence of edits of an INI text', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    ' ',
    ';',
    '#',
    '=',
    '[',
    ']',
    '"',
    '\\',
    'ä',
    '\n',
    '\r',
    '\u00a0',
    '\u2028',
    '%',
    ',',
  );
  const word = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));
  const value = fc.option(
    fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
    { nil: undefined },
  );
  const edits = fc.array(
    fc.tuple(fc.oneof(fc.constantFrom('a', 'b'), word), fc.oneof(fc.constantFrom('k', 'l'), word), value),
    {
      maxLength: 30,
    },
  );

  test('has the same result as in a map, and keeps every comment', () => {
    fc.assert(
      fc.property(edits, (steps) => {
        let text = '; one\n[a]\n# two\nk = v\n\n[b] ; three\n';
        const model = new Map([['a', new Map([['k', 'v']])]]);
        for (const [section, key, to] of steps) {
          text = edit(text, section, key, to);
          const keys = model.get(section) ?? new Map<string, string>();
          if (to === undefined) keys.delete(key);
          else keys.set(key, to);
          model.set(section, keys);
        }
        const expected = Object.fromEntries(
          [...model].filter(([, keys]) => keys.size > 0).map(([name, keys]) => [name, Object.fromEntries(keys)]),
        );
        const found = Object.fromEntries(Object.entries(read(text)).filter(([, keys]) => Object.keys(keys).length > 0));
        expect(found).toEqual(expected);
        for (const comment of ['; one', '# two', '; three']) expect(text).toContain(comment);
      }),
    );
  });
});
