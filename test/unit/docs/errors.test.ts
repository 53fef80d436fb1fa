import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DatabaseError, type ErrorCode } from '../../../src/base/errors/database-error.ts';
import { STATUSES, showError } from '../../../src/http/response/error-table.ts';
import { readPage, repository } from './pages.ts';

/** Each heading of a code with what stands below it. A row of headings shares its text. */
const sections = sectionsOf(readPage('docs/http/errors.md').text);

/** These name the section themselves, since their word is another, or that of a function or peer. */
const UNDER_THEIR_CODE: readonly ErrorCode[] = ['purge_during_compaction', 'function_error', 'replication_failed'];

/** Words that are not in the table of codes: of queries, signatures, and hosts that answer without the service. */
const otherWords = [
  ...wordsIn('src/queries/find', /queryError\(\s*'(\w+)'/g),
  ...wordsIn('src/accounts/schemes', /refusal\('(\w+)',/g),
  ...wordsIn('src/node/http', /error: '(\w+)'/g),
  ...wordsIn('src/node/server', /error: '(\w+)'/g),
  ...wordsIn('src/packages/vite', /error: '(\w+)'/g),
].filter((word) => word !== 'temporary_redirect');

test('every code has a section with its status', () => {
  for (const [code, status] of Object.entries(STATUSES) as [ErrorCode, number][]) {
    const word = UNDER_THEIR_CODE.includes(code) ? code : showError(new DatabaseError(code, '')).error;
    expect(sections.get(word), `${word}, of ${code}`).toContain(String(status));
  }
});

test('every other word has a section', () => {
  expect(otherWords.length).toBeGreaterThan(30);
  for (const word of otherWords) expect(sections.has(word), word).toBe(true);
});

test('there is no section of a word that does not exist', () => {
  const words = Object.keys(STATUSES).map((code) => showError(new DatabaseError(code as ErrorCode, '')).error);
  const known = new Set([...words, ...UNDER_THEIR_CODE, ...otherWords]);
  const queries = readPage('docs/http/find.md').text;
  expect([...sections.keys()].filter((word) => !known.has(word) && !queries.includes(`\`${word}\``))).toEqual([]);
});

test('every section says what to do', () => {
  for (const [word, text] of sections) expect(text, word).toMatch(/\*\*What to\s+do:\*\* /);
});

function sectionsOf(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, headings = '', body = ''] of text.matchAll(/((?:^### `\w+`\n+)+)([^#]*(?:(?<!\n)#[^#]*)*)/gm)) {
    for (const [, word = ''] of headings.matchAll(/`(\w+)`/g)) found.set(word, body);
  }
  return found;
}

function wordsIn(folder: string, pattern: RegExp): string[] {
  const files = readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' });
  const sources = files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(repository, folder, file), 'utf8'));
  return sources.flatMap((source) => [...source.matchAll(pattern)].map(([, word = '']) => word));
}
