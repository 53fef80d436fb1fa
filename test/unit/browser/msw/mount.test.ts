import { describe, expect, test } from 'vitest';
import { addressPattern, basePathOf } from '../../../../src/browser/msw/mount.ts';

const page = 'https://app.example/notes/list.html?all';

describe('a path as the mount', () => {
  const pattern = addressPattern('/db/', page);

  test("stands for the page's own origin", () => {
    expect(basePathOf('/db/', page)).toBe('/db');
    for (const path of ['/db', '/db/', '/db/notes/a%2Fb']) expect(`https://app.example${path}`).toMatch(pattern);
  });

  test('ignores other paths and origins', () => {
    for (const url of [
      'https://app.example/',
      'https://app.example/dbs/notes',
      'https://app.example/x/db/',
      'https://other.example/db/',
      'https://app.example.org/db/',
      'https://appxexample/db/',
    ]) {
      expect(url).not.toMatch(pattern);
    }
  });

  test('matches every origin if there is no page', () => {
    const anywhere = addressPattern('/db', undefined);
    expect(basePathOf('/db', undefined)).toBe('/db');
    for (const url of ['http://localhost:3000/db/notes', 'https://app.example/db']) expect(url).toMatch(anywhere);
    expect('http://localhost:3000/x/db/').not.toMatch(anywhere);
  });
});

describe('an address as the mount', () => {
  test('stands for its origin, with or without a page', () => {
    for (const from of [page, undefined]) {
      const pattern = addressPattern('https://db.example.com/', from);
      expect(basePathOf('https://db.example.com/', from)).toBe('');
      expect('https://db.example.com/').toMatch(pattern);
      expect('https://db.example.com/notes/a').toMatch(pattern);
      expect('https://app.example/notes/a').not.toMatch(pattern);
    }
  });

  test('can contain characters that are special in patterns', () => {
    const pattern = addressPattern('http://localhost:8080/a.b(c)+/:d*/', undefined);
    expect('http://localhost:8080/a.b(c)+/:d*/notes').toMatch(pattern);
    expect('http://localhost:8080/axb(c)+/:d*/notes').not.toMatch(pattern);
  });
});

test('an invalid mount is refused', () => {
  expect(() => addressPattern('http://', undefined)).toThrow(TypeError);
});
