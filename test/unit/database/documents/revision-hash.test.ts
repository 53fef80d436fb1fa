import { hash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import type { Md5 } from '../../../../src/database/documents/md5.ts';
import {
  createRevisionHasher,
  type RevisionHasher,
} from '../../../../src/database/documents/revisions/revision-hash.ts';
import { parseRevId, toRevId } from '../../../../src/database/documents/revisions/revisions.ts';

const md5OfHost: Md5 = (bytes) => hash('md5', bytes);

describe.each([
  ['by WebAssembly', undefined],
  ["by the host's digest", md5OfHost],
])('a revision hash %s', (_how, md5) => {
  let hasher: RevisionHasher;
  beforeAll(async () => {
    hasher = await createRevisionHasher(md5);
  });

  // The expected digests are md5sum's, of the text that revision-hash.ts describes. They can never change.
  test('is the MD5 of deleted flag, parent and body', () => {
    expect(hasher.hash({ deleted: false, parent: undefined, body: '{}' })).toBe('225a1fc40a0f6064d6e969a61f071534');
    expect(hasher.hash({ deleted: false, parent: undefined, body: '{"a":1}' })).toBe(
      'a02ccf2bf592c45f5954db5c733f5bb1',
    );
    const parent = parseRevId('2-7051cbe5c8faecd085a3fa619e6e6337');
    expect(hasher.hash({ deleted: true, parent, body: '{}' })).toBe('6bc920dbf1f783da36a3faeb3f77a220');
  });

  const first = { name: 'a"b.txt', type: 'text/plain', digest: 'md5-1B2M2Y8AsgTpgAmY7PhCfg==' };
  const second = { name: 'é', type: 'image/png', digest: 'md5-x' };
  const parent = parseRevId('1-967a00dff5e02add41819138abb3284d');
  const body = '{"n":"ä€😀"}';

  test('takes in the attachments, whatever their order', () => {
    const digest = '81fb4edf741887c46af56f8629530f87';
    expect(hasher.hash({ deleted: false, parent, body, attachments: [first, second] })).toBe(digest);
    expect(hasher.hash({ deleted: false, parent, body, attachments: [second, first] })).toBe(digest);
  });

  test('is the same for the text and for its UTF-8 bytes', () => {
    const bytes = new TextEncoder().encode(body);
    expect(hasher.hash({ deleted: false, parent, body: bytes, attachments: [first, second] })).toBe(
      '81fb4edf741887c46af56f8629530f87',
    );
  });

  test('is the same without attachments and with an empty list', () => {
    expect(hasher.hash({ deleted: false, parent, body, attachments: [] })).toBe(
      hasher.hash({ deleted: false, parent, body }),
    );
  });

  test('includes a parent with non-ASCII characters, and a long one', () => {
    // printf '0\n1-é€\n{}' | md5sum
    expect(hasher.hash({ deleted: false, parent: parseRevId('1-é€'), body: '{}' })).toBe(
      'c886a4dc118af6a9f24effc8ff98dc45',
    );
    // ( printf '0\n1-' ; 2,000 times x ; printf '\n{}' ) | md5sum
    const long = toRevId(1, 'x'.repeat(2_000));
    expect(hasher.hash({ deleted: false, parent: long, body: '{}' })).toBe('910e903f83ac03946e0858880e03065d');
  });

  test('digests a body larger than one call of the digest function', () => {
    // printf '0\n\n{"a":"' ; 100,000 times x ; printf '"}'
    expect(hasher.hash({ deleted: false, parent: undefined, body: `{"a":"${'x'.repeat(100_000)}"}` })).toBe(
      '108012870fc4390616b57f080b9f2a91',
    );
  });

  test('is the same in steps, also if others are hashed meanwhile', () => {
    const encode = (text: string) => new TextEncoder().encode(text);
    const long = encode(`{"a":"${'x'.repeat(3_000_000)}"}`);
    const [one, other] = [
      hasher.hashInSteps({ deleted: false, parent: undefined, body: long }),
      hasher.hashInSteps({ deleted: true, parent, body: encode('{}') }),
    ];
    for (let step = 0; step < 3; step++) expect(one.next().done).toBe(false);
    expect(atOnce(other)).toBe(hasher.hash({ deleted: true, parent, body: '{}' }));
    expect(hasher.hash({ deleted: false, parent: undefined, body: '{}' })).toBe('225a1fc40a0f6064d6e969a61f071534');
    // ( printf '0\n\n{"a":"' ; 3,000,000 times x ; printf '"}' ) | md5sum
    expect(atOnce(one)).toBe('6e9d753e22b556d735d830e02cc9c5d7');
  });
});
