import { describe, expect, test } from 'vitest';
import { toFileName } from '../../../../src/node/transfer/attachment-folder.ts';

const long = 'x'.repeat(300);

describe('the file name of an attachment', () => {
  test.each([
    ['note.txt', 'note.txt'],
    ['a-b_c.d.e', 'a-b_c.d.e'],
    ['../../x', '%2e.%2f..%2fx'],
    ['a/b', 'a%2fb'],
    ['a\\b', 'a%5cb'],
    ['.', '%2e'],
    ['..', '%2e%2e'],
    ['...', '%2e.%2e'],
    ['.hidden', '%2ehidden'],
    ['ends.', 'ends%2e'],
    ['con', '%63%6f%6e'],
    ['con.txt', '%63%6f%6e.txt'],
    ['context', 'context'],
    ['CON', '7~CON'],
    ['nul\0', 'nul%00'],
    ['a b\n', 'a%20b%0a'],
    ['100%', '100%25'],
    ['~settee.json', '%7esettee.json'],
    ['é', '%c3%a9'],
    ['e\u0301', 'e%cc%81'],
    ['😀', '%f0%9f%98%80'],
    ['IMG_1.JPG', '3f~IMG_1.JPG'],
    ['Photo.jpg', '80~Photo.jpg'],
    ['photo.JPG', '7~photo.JPG'],
    ['_design/d', '_design%2fd'],
    // printf %s "$text" | sha256sum
    ['', '~e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    [long, '~0d4e2ca9e9cbced7a7a5380eb29e1a3783b9b6d0db72de36a1051038e1c1fbc7'],
  ])('is correct for %j', (text, name) => {
    expect(toFileName(text)).toBe(name);
  });

  test('differs for different texts, also on case-insensitive file systems', () => {
    const texts = ['a', 'A', 'aB', 'Ab', 'AB', 'ab', '%41', '8~a', '1~A', 'x~', long, `${long}x`, long.toUpperCase()];
    const names = texts.map((text) => toFileName(text).toLowerCase());
    expect(new Set(names).size).toBe(texts.length);
  });

  test('is at most 150 bytes long, has no separator, and can be decoded unless it is a hash', () => {
    for (let code = 0; code < 0x3000; code++) {
      const text = `${String.fromCharCode(code)}x${String.fromCharCode(code)}`;
      const name = toFileName(text);
      expect(name).toMatch(/^(?:[\da-f]+~)?[\w%-][\w.%-]*[\w%-]$/);
      expect(decodeURIComponent(name.replace(/^[\da-f]+~/, ''))).toBe(text);
    }
    expect(toFileName('😀'.repeat(40))).toHaveLength(65);
  });
});
