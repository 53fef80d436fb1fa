/** IP addresses and blocks of them, and which of them are reachable from anywhere on the internet. */
import { isIP } from 'node:net';

/** Eight groups of 16 bits; an IPv4 address as the IPv6 address that stands for it (RFC 4291, 2.5.5.2). */
export type IpAddress = readonly number[];

export interface IpBlock {
  readonly first: IpAddress;
  /** Leading bits, of 128, that all of its addresses have in common. */
  readonly bits: number;
}

const GROUPS = 8;
const GROUP_BITS = 16;
const IPV4_BITS = 32;
const MAPPED: IpAddress = [0, 0, 0, 0, 0, 0xff_ff];

/** Undefined for anything that is not an address. Brackets and zones are ignored. */
export function parseIp(text: string): IpAddress | undefined {
  const plain = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/s, '');
  const version = isIP(plain);
  if (version === 0) return undefined;
  return version === 4 ? [...MAPPED, ...ipv4Groups(plain)] : ipv6Groups(plain);
}

/** An address, or one with `/` and a number of bits. Undefined for anything else. */
export function parseBlock(text: string): IpBlock | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const first = parseIp(address);
  const all = isIP(address) === 4 ? IPV4_BITS : GROUPS * GROUP_BITS;
  const given = bits === undefined ? all : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (first === undefined || more.length > 0 || !(given <= all)) return undefined;
  return { first, bits: GROUPS * GROUP_BITS - all + given };
}

export function isIn(address: IpAddress, { first, bits }: IpBlock): boolean {
  return first.every((group, index) => {
    const counted = Math.min(GROUP_BITS, Math.max(0, bits - index * GROUP_BITS));
    const shift = GROUP_BITS - counted;
    return (address[index] ?? 0) >> shift === group >> shift;
  });
}

/**
 * Whether an address is public. Not public are addresses of this machine, of a link, of private networks, of carriers, for tests,
 * examples and multicast, and all reserved ones (IANA's registries of special-purpose addresses); an IPv6 address that stands for an IPv4 address
 * is treated as that.
 */
export function isPublic(address: IpAddress): boolean {
  if (WITH_IPV4.some((block) => isIn(address, block))) {
    const last = [...MAPPED, ...address.slice(6)];
    return !NOT_PUBLIC.some((block) => isIn(last, block));
  }
  return UNICAST.some((block) => isIn(address, block)) && !NOT_PUBLIC.some((block) => isIn(address, block));
}

/** After these prefixes the last 32 bits are an IPv4 address: as sockets of both versions show it, and after a translator (RFC 6052). */
const WITH_IPV4 = blocks(['::ffff:0:0/96', '64:ff9b::/96']);
/** All of IPv6 that is allocated so far. */
const UNICAST = blocks(['2000::/3']);

const NOT_PUBLIC = blocks([
  // This network, private ones, carriers, this machine, links, assignments of the IETF.
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '192.88.99.0/24'],
  // Examples and measurements; multicast; reserved, and broadcast.
  ...['192.0.2.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  // For clouds, reachable only from their own machines: Azure's host with keys and certificates, and IBM's services. The list above has the others.
  ...['168.63.129.16/32', '161.26.0.0/16', '166.8.0.0/14'],
  // For IPv6: assignments of the IETF with Teredo, examples, and 6to4, which leads to an IPv4 address.
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);

function blocks(texts: readonly string[]): readonly IpBlock[] {
  return texts.flatMap((text) => parseBlock(text) ?? []);
}

function ipv4Groups(text: string): [number, number] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

function ipv6Groups(text: string): IpAddress {
  const dotted = /[\d.]+\.[\d.]+$/.exec(text)?.[0];
  const hex =
    dotted === undefined
      ? text
      : text.replace(
          dotted,
          ipv4Groups(dotted)
            .map((n) => n.toString(16))
            .join(':'),
        );
  const [front = [], back] = hex
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':').map((n) => Number.parseInt(n, 16))));
  if (back === undefined) return front;
  return [...front, ...new Array<number>(GROUPS - front.length - back.length).fill(0), ...back];
}
