/** Passwords in what asks for a replication: where they are, and the same without them. */
import type { Json, JsonObject } from '../server/client.ts';
import { endpointName, objectOf } from '../server/replications.ts';

/** Stands for a password in what is shown. */
const HIDDEN = 'PASSWORD';
const SECRET_MEMBERS = new Set(['password', 'consumer_secret', 'token', 'token_secret']);
const ENDPOINTS = ['source', 'target'] as const;
const PROXIES = ['proxy', 'source_proxy', 'target_proxy'] as const;

/** The same members, with `PASSWORD` in the places of passwords, tokens and the values of headers. */
export function maskSecrets(members: JsonObject): JsonObject {
  const masked: Record<string, Json | undefined> = { ...members };
  for (const name of ENDPOINTS) if (name in members) masked[name] = maskEndpoint(members[name]);
  for (const name of PROXIES) if (typeof masked[name] === 'string') masked[name] = maskUrl(masked[name]);
  return masked;
}

export function hasSecrets(members: JsonObject): boolean {
  return JSON.stringify(maskSecrets(members)) !== JSON.stringify(members);
}

/** The name of a database, or its address without name and password. */
export function describeEndpoint(endpoint: unknown): string {
  const text = typeof endpoint === 'string' ? endpoint : `${objectOf(endpoint).url ?? ''}`;
  const url = urlIn(text);
  if (url === undefined) return text;
  url.username = '';
  url.password = '';
  return url.href;
}

/** `library → db.example/library`, without names, passwords and schemes; undefined if that is not known. */
export function titleOf(replication: { readonly source?: unknown; readonly target?: unknown } | undefined) {
  const names = [endpointName(replication?.source), endpointName(replication?.target)];
  return names.includes('') ? undefined : names.join(' → ');
}

function maskEndpoint(endpoint: JsonObject[string]): JsonObject[string] {
  if (typeof endpoint === 'string') return maskUrl(endpoint);
  const { url, auth, headers, ...rest } = objectOf(endpoint);
  return {
    ...(typeof url === 'string' && { url: maskUrl(url) }),
    ...(auth !== undefined && { auth: maskMembers(objectOf(auth), false) }),
    ...(headers !== undefined && { headers: maskMembers(objectOf(headers), true) }),
    ...rest,
  };
}

function maskMembers(members: JsonObject, isAll: boolean): JsonObject {
  const entries = Object.entries(members).map(([name, value]) => {
    if (isAll || SECRET_MEMBERS.has(name)) return [name, HIDDEN];
    return [name, typeof value === 'object' ? maskMembers(objectOf(value), false) : value];
  });
  return Object.fromEntries(entries);
}

function maskUrl(text: string): string {
  const url = urlIn(text);
  if (url === undefined || url.password === '') return text;
  url.password = HIDDEN;
  return url.href;
}

function urlIn(text: string): URL | undefined {
  return /^(https?|socks5):/i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}
