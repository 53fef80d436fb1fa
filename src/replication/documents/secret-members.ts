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
  /** The database or proxy that it is for, without user and password. Empty for a text that is no valid address. */
  readonly address: string;
}

/** Returns the text that takes the place of a secret. */
type Replace = (secret: Secret) => Promise<string>;

const ENDPOINTS: ReadonlySet<string> = new Set(['source', 'target']);
const PLACES: ReadonlySet<string> = new Set([...ENDPOINTS, 'proxy', 'source_proxy', 'target_proxy']);
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
  for (const [name, value] of Object.entries(document)) {
    if (!PLACES.has(name)) continue;
    const replaced =
      typeof value === 'string' ? await inAddress(name, value, note) : await inEndpoint(name, value, note);
    if (changed.has(name)) changed.set(name, replaced);
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

async function inEndpoint(name: string, endpoint: unknown, replace: Replace): Promise<unknown> {
  if (!isObject(endpoint) || !ENDPOINTS.has(name)) return endpoint;
  const address = addressOf(ownMember(endpoint, 'url'));
  const members: [string, unknown][] = [];
  for (const [member, value] of Object.entries(endpoint)) {
    const part = `${name}.${member}`;
    if (member === 'url' && typeof value === 'string') members.push([member, await inAddress(part, value, replace)]);
    else if (member === 'auth') members.push([member, await inMembers({ part, address, value }, PLAIN, replace)]);
    else if (member === 'headers') members.push([member, await inMembers({ part, address, value }, NONE, replace)]);
    else members.push([member, value]);
  }
  return Object.fromEntries(members);
}

/** Any string in it may be a secret, except those of the plain names. */
async function inMembers(
  { part, address, value }: Pick<Secret, 'part' | 'address'> & { readonly value: unknown },
  plain: ReadonlySet<string>,
  replace: Replace,
): Promise<unknown> {
  if (typeof value === 'string') return replace({ text: value, part, form: 'member', address });
  if (!isObject(value)) return value;
  const members: [string, unknown][] = [];
  for (const [name, inner] of Object.entries(value)) {
    const isPlain = plain.has(name) && typeof inner === 'string';
    const replaced = isPlain
      ? inner
      : await inMembers({ part: `${part}.${name}`, address, value: inner }, plain, replace);
    members.push([name, replaced]);
  }
  return Object.fromEntries(members);
}

/** The password of a URL, its query and its fragment; all of a text that is no valid address, since a secret may be anywhere in it. */
async function inAddress(part: string, text: string, replace: Replace): Promise<string> {
  if (isSealed(text) || isUnclear(text)) return replace({ text, part, form: 'address', address: '' });
  const of = { part, form: 'address', address: addressOf(text) } as const;
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

function isUnclear(text: string): boolean {
  return MAY_HOLD_SECRETS.test(text) && shownAddress(text) === undefined;
}
