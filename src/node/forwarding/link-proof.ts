/**
 * How two servers of a cluster prove to each other that they know the same key, without sending it. The one that connects sends a greeting with a
 * nonce and the address that it means to reach; the other one a nonce. Then each sends a proof: a MAC over its role, the greeting and
 * the nonce, first the one that has connected. So a proof is good for one connection, for one direction, and for one address: nobody gets further by sending it again, back,
 * or to another server. It proves nothing about what is sent afterwards: on networks where others can change packets, servers need https.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import { PROTOCOL } from './frames.ts';

const NONCE_BYTES = 16;
const MAX_ADDRESS_CHARS = 2_048;

/** Of the other end. */
export type Role = 'connecting' | 'connected';

export function createNonce(): string {
  return randomBytes(NONCE_BYTES).toString('hex');
}

export function greetingOf(nonce: string, address: string): string {
  return `${PROTOCOL} ${nonce} ${address}`;
}

/** The address in a greeting; undefined for anything else than a greeting of this version. */
export function parseGreeting(greeting: string): string | undefined {
  const [protocol, nonce, address, ...rest] = greeting.split(' ');
  if (protocol !== PROTOCOL || nonce === undefined || !isNonce(nonce) || rest.length > 0) return undefined;
  return address !== undefined && address !== '' && address.length <= MAX_ADDRESS_CHARS ? address : undefined;
}

export function isNonce(text: string): boolean {
  return /^[\da-f]{32}$/.test(text);
}

/** `key`: 64 digits in hex. `nonce`: of the server that was connected. */
export function proofOf(key: string, role: Role, greeting: string, nonce: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(`${role}\n${greeting}\n${nonce}`).digest('hex');
}

export function isProof(proof: string, ...parts: Parameters<typeof proofOf>): boolean {
  return areEqualSecrets(proof, proofOf(...parts));
}

/** Fails if it is not 32 bytes in hex: a shorter one could be guessed. The reason does not contain it. */
export function assertKey(key: string): void {
  if (!/^[\da-f]{64}$/i.test(key)) throw new Error('the key of the cluster is not 32 bytes in hex');
}

/** One spelling of an address, such as `http://db1.example.org:5984/`. Fails for anything else than a URL of http or https. */
export function toServerAddress(text: string): string {
  const { protocol, host, pathname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(`"${text}" is no address of a server`);
  return `${protocol}//${host}${pathname.replace(/\/*$/, '/')}`;
}
