import { gzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import {
  type Attack,
  attack,
  CONFLICTS,
  conflicting,
  idOf,
  numbers,
  timeout,
  useFullDatabases,
} from './support/full-databases.ts';

useFullDatabases();

/** As many documents as one request may bring. */
const BROUGHT = 100_000;

describe('other clients are served in time while one sends large bodies', () => {
  const written = /"rev":"[^"]+"\}\]?\n$/;
  const long = 50_000_000;
  const attacks: readonly Attack[] = [
    [
      'in documents',
      201,
      written,
      'POST',
      '/brought/_bulk_docs',
      () => ({ json: { docs: numbers.slice(0, 50_000).map((n) => ({ n, text: `text ${n}` })) } }),
    ],
    // So many that a loop that gives nobody a turn shows.
    [
      'in very many documents',
      201,
      written,
      'POST',
      '/many%/_bulk_docs',
      () => ({ json: { docs: numbers.slice(0, BROUGHT).map(() => ({})) } }),
    ],
    [
      'in very many documents that are there already',
      201,
      /"error":"conflict"[^}]*\}\]\n$/,
      'POST',
      '/many%/_bulk_docs',
      () => ({ json: { docs: numbers.slice(0, BROUGHT).map((n) => ({ _id: idOf(n) })) } }),
      ['/many%/_bulk_docs'],
    ],
    [
      'in very many revisions',
      201,
      /^\[\]\n$/,
      'POST',
      '/many%/_bulk_docs',
      () => ({
        json: { new_edits: false, docs: numbers.slice(0, BROUGHT).map((n) => ({ _id: idOf(n), _rev: '1-00', n })) },
      }),
    ],
    [
      'in documents with all or nothing',
      201,
      written,
      'POST',
      '/brought/_bulk_docs',
      () => ({ json: { all_or_nothing: true, docs: numbers.slice(0, 50_000).map((n) => ({ n })) } }),
    ],
    [
      'in revisions of one document',
      201,
      /^\[\]\n$/,
      'POST',
      '/conflicts/_bulk_docs',
      () => ({ json: { new_edits: false, docs: conflicting(CONFLICTS) } }),
    ],
    ['in a text', 201, written, 'POST', '/brought', () => ({ json: { text: 'x'.repeat(long) } })],
    [
      'in a text with escapes',
      201,
      written,
      'POST',
      '/brought',
      () => ({ json: { text: '\u0001"\\'.repeat(long / 10) } }),
    ],
    ['in numbers', 201, written, 'POST', '/brought', () => ({ json: { list: new Array(long / 4).fill(1.5) } })],
    [
      'in members',
      201,
      written,
      'POST',
      '/brought',
      () => ({ json: Object.fromEntries(numbers.map((n) => [`member${n}`, n])) }),
    ],
    [
      'in a local document that is too long',
      413,
      /too_large/,
      'PUT',
      '/brought-%/_local/large',
      () => ({ json: { list: new Array(long / 4).fill(1.5) } }),
    ],
    [
      'in a local document beside two others',
      201,
      written,
      'PUT',
      '/brought-%/_local/large',
      () => ({ json: { list: new Array(4_000_000).fill(1.5) } }),
      ['/brought-%/_local/before', '/brought-%/_local/next'],
    ],
    ['in nested arrays', 400, /bad_request/, 'PUT', '/brought/deep', () => ({ body: Buffer.alloc(long, '[') })],
    ['in nested objects', 400, /bad_request/, 'PUT', '/brought/deep', () => ({ body: Buffer.alloc(long, '{"a":') })],
    [
      'in nested keys',
      400,
      /bad_request/,
      'POST',
      '/brought/_all_docs',
      () => ({ body: Buffer.concat([Buffer.from('{"keys":'), Buffer.alloc(long, '[')]) }),
    ],
    [
      'in a nested selector',
      400,
      /bad_request/,
      'POST',
      '/brought/_find',
      () => ({ body: Buffer.concat([Buffer.from('{"selector":'), Buffer.alloc(3_900_000, '{"$not":')]) }),
    ],
    [
      'in a nested security object',
      400,
      /bad_request/,
      'PUT',
      '/brought/_security',
      () => ({ body: Buffer.alloc(2_000_000, '{"a":') }),
    ],
    [
      'in nested documents',
      400,
      /bad_request/,
      'POST',
      '/brought/_bulk_docs',
      () => ({
        body: Buffer.concat([Buffer.from('{"docs":[{"a":'), Buffer.alloc(long, '[')]),
      }),
    ],
    [
      'compressed',
      201,
      written,
      'POST',
      '/brought',
      () => ({
        body: gzipSync(JSON.stringify({ text: 'x'.repeat(long) })),
        headers: { 'content-encoding': 'gzip' },
      }),
    ],
    [
      'compressed, and too much',
      413,
      /the request entity is too large/,
      'POST',
      '/brought',
      () => ({
        body: gzipSync(Buffer.alloc(20 * long, 'x')),
        headers: { 'content-encoding': 'gzip' },
      }),
    ],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each));
});
