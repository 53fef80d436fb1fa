/** Where the documents of `_replicator` hold secrets: passwords, tokens, and the values of headers. */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { mayBeName, shownAddress } from '../../base/system/shown-address.ts';

/** One secret of a document. */
export interface Secret {
  readonly text: string;
  /** The member that holds it, for people. */
  readonly part: string;
  /** In a URL it is percent-encoded. */
  readonly form: 'address' | 'member';
  /**
   * The database or proxy that it is for, without user and password. If that address is encrypted as a whole, its encrypted text. Empty for
   * such an address itself.
   */
  readonly address: string;
  /** The proxy that can read it on its way; empty if there is none, or if the connection is encrypted. */
  readonly proxy: string;
}

type Destination = Pick<Secret, 'address' | 'proxy'>;

/** Returns the text that takes the place of a secret. */
type Replace = (secret: Secret) => Promise<string>;

const ENDPOINTS = ['source', 'target'] as const;
const PROXIES = ['proxy', 'source_proxy', 'target_proxy'] as const;
const PLACES: ReadonlySet<string> = new Set([...ENDPOINTS, ...PROXIES]);
/** Far more than a replication can use. Each may be a secret, which takes more space when it is encrypted. */
export const MAX_MEMBERS = 100;
/** Strings in `auth` that are no secrets. */
const PLAIN: ReadonlySet<string> = new Set(['username', 'consumer_key', 'signature_method']);
const NONE: ReadonlySet<string> = new Set();
/** Scheme and user, password, and the rest of a URL. The last @ before the path ends the password. */
const WITH_PASSWORD = /^([a-z][a-z\d+.-]*:\/\/[^/?#\\:@]*:)([^/?#\\]*)(@.*)$/is;
/** What is before a query or a fragment, and these. */
const WITH_TAIL = /^([^?#]*)([?#].*)$/s;
/** Without one of these, a text that is no address holds no secret. */
const MAY_HOLD_SECRETS = /[@?#]/;
const SEALED = '-sealed-';

/** Whether a text is an encrypted secret, as documents store it. */
export function isSealed(text: string): boolean {
  return text.startsWith(SEALED);
}

export function toSealed(text: string): string {
  return `${SEALED}${text}`;
}

/** Returns what `toSealed` was given. */
export function sealedText(text: string): string {
  return text.slice(SEALED.length);
}

/** Returns the members that change, with their new values. */
export async function replaceSecrets(document: JsonObject, replace: Replace): Promise<ReadonlyMap<string, unknown>> {
  const changed = new Map<string, unknown>();
  const note: Replace = async (secret) => {
    const text = await replace(secret);
    if (text !== secret.text) changed.set(secret.part.replace(/\..*$/s, ''), undefined);
    return text;
  };
  const inPlace = async (name: string, inValue: (value: unknown) => Promise<unknown>): Promise<unknown> => {
    const value = ownMember(document, name);
    if (value === undefined) return undefined;
    const replaced = await inValue(value);
    if (changed.has(name)) changed.set(name, replaced);
    return replaced;
  };
  const proxies = new Map<string, string>();
  for (const name of PROXIES) {
    const replaced = await inPlace(name, (value) => inProxy(name, value, note));
    const place = placeOf(ownMember(document, name), replaced);
    if (place !== '') proxies.set(name, place);
  }
  for (const name of ENDPOINTS) {
    const proxy = proxies.get(`${name}_proxy`) ?? proxies.get('proxy') ?? '';
    await inPlace(name, (value) => inEndpoint(name, value, proxy, note));
  }
  return changed;
}

/** Whether a document holds a secret that is readable. */
export async function hasPlainSecrets(document: JsonObject): Promise<boolean> {
  let isPlain = false;
  await replaceSecrets(document, async ({ text }) => {
    if (!isSealed(text)) isPlain = true;
    return text;
  });
  return isPlain;
}

/** Whether the `auth` and `headers` of a document have more than `MAX_MEMBERS`. */
export function hasTooManyMembers(document: JsonObject): boolean {
  let left = MAX_MEMBERS;
  const isTooMuch = (value: unknown): boolean => {
    if (!isObject(value)) return false;
    const inner = Object.values(value);
    left -= inner.length;
    return left < 0 || inner.some(isTooMuch);
  };
  return ENDPOINTS.some((name) => {
    const endpoint = ownMember(document, name);
    return isObject(endpoint) && ['auth', 'headers'].some((member) => isTooMuch(ownMember(endpoint, member)));
  });
}

/** Whether both documents ask for the same, apart from how the user proves who it is at the two databases and at proxies. */
export function asksForTheSame(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(withoutCredentials(one)) === JSON.stringify(withoutCredentials(other));
}

/** Whether the members that can hold credentials are equal. */
export function hasSameCredentials(one: JsonObject, other: JsonObject): boolean {
  return [...PLACES].every((name) => JSON.stringify(ownMember(one, name)) === JSON.stringify(ownMember(other, name)));
}

/** Also without what the service writes. In the order of the names. */
function withoutCredentials(document: JsonObject): readonly unknown[] {
  return Object.entries(document)
    .filter(([name]) => !name.startsWith('_'))
    .map(([name, value]): [string, unknown] => [name, PLACES.has(name) ? withoutSecrets(value) : value])
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The same for a URL and for an object with that URL. */
function withoutSecrets(place: unknown): unknown {
  if (!isObject(place)) return { url: addressOf(place) };
  const { auth: _auth, headers: _headers, url, ...others } = place;
  return { url: addressOf(url), ...others };
}

async function inProxy(name: string, value: unknown, replace: Replace): Promise<unknown> {
  return typeof value === 'string' ? inAddress(name, value, '', replace) : value;
}

async function inEndpoint(name: string, endpoint: unknown, proxy: string, replace: Replace): Promise<unknown> {
  if (typeof endpoint === 'string') return inAddress(name, endpoint, proxy, replace);
  if (!isObject(endpoint)) return endpoint;
  const url = ownMember(endpoint, 'url');
  const replacedUrl = typeof url === 'string' ? await inAddress(`${name}.url`, url, proxy, replace) : url;
  const to = destinationOf(placeOf(url, replacedUrl), proxy);
  const members: [string, unknown][] = [];
  for (const [member, value] of Object.entries(endpoint)) {
    const part = `${name}.${member}`;
    if (member === 'url') members.push([member, replacedUrl]);
    else if (member === 'auth') members.push([member, await inMembers({ ...to, part, value }, PLAIN, replace)]);
    else if (member === 'headers') members.push([member, await inMembers({ ...to, part, value }, NONE, replace)]);
    else members.push([member, value]);
  }
  return Object.fromEntries(members);
}

/** Any string in it may be a secret, except those of the plain names. */
async function inMembers(
  { part, value, ...to }: Pick<Secret, 'part'> & Destination & { readonly value: unknown },
  plain: ReadonlySet<string>,
  replace: Replace,
): Promise<unknown> {
  if (typeof value === 'string') return replace({ text: value, part, form: 'member', ...to });
  if (!isObject(value)) return value;
  const members: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const isPlain = plain.has(name) && typeof inner === 'string';
    const replaced = isPlain
      ? inner
      : await inMembers({ ...to, part: `${part}.${name}`, value: inner }, plain, replace);
    members.push([name, replaced]);
  }
  return Object.fromEntries(members);
}

/** The password of a URL, its query and its fragment; all of a text that is no valid address, since a secret may be anywhere in it. */
async function inAddress(part: string, text: string, proxy: string, replace: Replace): Promise<string> {
  if (isSealed(text) || isUnclear(text)) return replace({ text, part, form: 'address', ...destinationOf('', proxy) });
  const of = { part, form: 'address', ...destinationOf(addressOf(text), proxy) } as const;
  const [, rest = text, tail = ''] = WITH_TAIL.exec(text) ?? [];
  const [, before, password, after] = WITH_PASSWORD.exec(rest) ?? [];
  const isPlain = before === undefined || password === undefined || after === undefined || password === '';
  const start = isPlain ? rest : `${before}${await replace({ text: password, ...of })}${after}`;
  if (mayBeName(text) || tail === '') return start;
  const replaced = await replace({ text: isSealed(tail.slice(1)) ? tail.slice(1) : tail, ...of });
  return isSealed(replaced) ? `${start}?${replaced}` : `${start}${replaced}`;
}

function addressOf(text: unknown): string {
  if (typeof text !== 'string' || isSealed(text) || isUnclear(text)) return '';
  return (shownAddress(text) ?? '').replace(/\/+$/, '');
}

/** Returns what secrets for a URL are bound to: its address, or its encrypted text, which is the one before or after it was replaced. */
function placeOf(before: unknown, after: unknown): string {
  return (
    [before, after].find((text): text is string => typeof text === 'string' && isSealed(text)) ?? addressOf(before)
  );
}

/** With `https:` a proxy only passes on what it can't read. */
function destinationOf(address: string, proxy: string): Destination {
  return { address, proxy: address.startsWith('https:') ? '' : proxy };
}

/** Also with a backslash, which the URL parser takes for a slash: it may be before a password. */
function isUnclear(text: string): boolean {
  return MAY_HOLD_SECRETS.test(text) && (text.includes('\\') || shownAddress(text) === undefined);
}
