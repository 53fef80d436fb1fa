/** What functions that make responses are given, and what comes of them. */
import { afterAll } from 'vitest';
import type { ListResult } from '../../../../src/queries/sandbox/contract.ts';
import { createTestSandbox } from './quickjs-files.ts';

/** A sandbox for the tests of a file, which is closed after them. */
export function useSandbox(): ReturnType<typeof createTestSandbox> {
  const sandbox = createTestSandbox();
  afterAll(() => sandbox.close());
  return sandbox;
}

export const request = (accept?: string, more: object = {}) =>
  JSON.stringify({ id: null, query: {}, headers: accept === undefined ? {} : { Accept: accept }, ...more });

export async function chunksOf(made: ListResult): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of made.chunks()) chunks.push(chunk);
  return chunks;
}
