import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { isIn, isPublic, parseBlock, parseIp } from '../../../../src/node/network/ip-address.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

/** One number for each address, of 32 or 128 bits, and plain ranges of them. */
interface Numbered {
  readonly version: 4 | 6;
  readonly value: bigint;
}

function ipv4(text: string): bigint {
  return text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

const RESERVED_4: readonly (readonly [first: string, last: string])[] = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.255.255'],
  ['161.26.0.0', '161.26.255.255'],
  ['166.8.0.0', '166.11.255.255'],
  ['168.63.129.16', '168.63.129.16'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '255.255.255.255'],
];

function isPublicNumber({ version, value }: Numbered): boolean {
  if (version === 4) return !RESERVED_4.some(([first, last]) => value >= ipv4(first) && value <= ipv4(last));
  const above = value >> 32n;
  if (above === 0xff_ffn || above === 0x64_ff9b_0000_0000_0000_0000n) {
    return isPublicNumber({ version: 4, value: value & 0xff_ff_ff_ffn });
  }
  const top = value >> 96n;
  if (top >> 29n !== 1n) return false;
  return top >> 9n !== 0x2001_0000n >> 9n && top !== 0x2001_0db8n && top >> 16n !== 0x2002n && top >> 12n !== 0x3fff_0n;
}

function textOf({ version, value }: Numbered, random: SeededRandom): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xff_ffn).toString(16));
  const full = groups.join(':');
  // A URL writes it as short as can be.
  return random.between(0, 1) === 0 ? full : new URL(`http://[${full}]`).hostname;
}

function randomBits(bits: number, random: SeededRandom): bigint {
  let value = 0n;
  for (let n = 0; n < bits; n += 8) value = value * 256n + BigInt(random.between(0, 255));
  return value;
}

/** Near the edges of what is reserved, in what stands for IPv4, and anywhere. */
function randomAddress(random: SeededRandom): Numbered {
  const near = random.between(-2, 2);
  const [first, last] = must(RESERVED_4[random.between(0, RESERVED_4.length - 1)]);
  const edge = ipv4(random.between(0, 1) === 0 ? first : last) + BigInt(near);
  const value = random.between(0, 1) === 0 ? BigInt.asUintN(32, edge) : randomBits(32, random);
  switch (random.between(0, 5)) {
    case 0:
      return { version: 4, value };
    case 1:
      return { version: 6, value: (0xff_ffn << 32n) + value };
    case 2:
      return { version: 6, value: (0x64_ff9bn << 96n) + value };
    case 3: {
      const tops = [0x2000_0000n, 0x2001_0000n, 0x2001_01ffn, 0x2001_0200n, 0x2001_0db8n, 0x2001_0db9n, 0x2002_0001n];
      const more = [
        0x2003_0000n,
        0x3fff_0fffn,
        0x3fff_1000n,
        0x1fff_ffffn,
        0xfe80_0000n,
        0xfc00_0000n,
        0xff02_0000n,
        0n,
      ];
      const all = [...tops, ...more];
      return { version: 6, value: (must(all[random.between(0, all.length - 1)]) << 96n) + randomBits(96, random) };
    }
    case 4:
      return { version: 6, value };
    default:
      return { version: 6, value: randomBits(128, random) };
  }
}

test('the public addresses are those outside of the reserved ranges', () => {
  const random = new SeededRandom(11);
  const seen = { public: 0, other: 0 };
  for (let n = 0; n < 20_000; n++) {
    const numbered = randomAddress(random);
    const text = textOf(numbered, random);
    const expected = isPublicNumber(numbered);
    expect(isPublic(must(parseIp(text))), text).toBe(expected);
    seen[expected ? 'public' : 'other']++;
  }
  expect(Math.min(seen.public, seen.other)).toBeGreaterThan(2_000);
});

test('a block contains the addresses with its leading bits', () => {
  const random = new SeededRandom(12);
  for (let n = 0; n < 5_000; n++) {
    const numbered = randomAddress(random);
    const all = numbered.version === 4 ? 32 : 128;
    const bits = random.between(0, all);
    const flipped = random.between(0, all - 1);
    const other = { ...numbered, value: numbered.value ^ (1n << BigInt(all - 1 - flipped)) };
    const block = must(parseBlock(`${textOf(numbered, random)}/${bits}`));
    expect(isIn(must(parseIp(textOf(numbered, random))), block)).toBe(true);
    expect(isIn(must(parseIp(textOf(other, random))), block)).toBe(flipped >= bits);
  }
});

describe('allowed addresses', () => {
  test.each([
    ['8.8.8.8', true],
    ['2606:4700::1111', true],
    ['[2606:4700::1111]', true],
    ['::ffff:8.8.8.8', true],
    ['64:ff9b::8.8.8.8', true],
    ['169.254.169.254', false],
    ['::ffff:169.254.169.254', false],
    ['64:ff9b::169.254.169.254', false],
    ['64:ff9b:1::808:808', false],
    // Where clouds tell their machines secrets: Azure, Alibaba, Oracle, AWS, Google and Scaleway.
    ['168.63.129.16', false],
    ['::ffff:168.63.129.16', false],
    ['168.63.129.15', true],
    ['100.100.100.200', false],
    ['192.0.0.192', false],
    ['fd00:ec2::254', false],
    ['fd20:ce::254', false],
    ['fd00:42::42', false],
    ['::', false],
    ['::1', false],
    ['::7f00:1', false],
    ['fe80::1%eth0', false],
    ['fd00::1', false],
    ['fec0::1', false],
    ['ff02::1', false],
    ['2002:7f00:1::', false],
    ['2001:0:4136:e378::', false],
  ])('%s is public: %j', (text, expected) => {
    expect(isPublic(must(parseIp(text)))).toBe(expected);
  });

  test.each(['', '1', '127.1', '0x7f.0.0.1', '256.0.0.1', 'localhost', '1:2', '::g', '1.2.3.4/8'])(
    '%j is invalid',
    (text) => {
      expect(parseIp(text)).toBeUndefined();
    },
  );

  test.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129', 'x/8', '10.0.0.0/-1', '10.0.0.0/08x'])(
    '%j is not a block',
    (text) => {
      expect(parseBlock(text)).toBeUndefined();
    },
  );
});
