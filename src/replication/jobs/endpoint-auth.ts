/** The member `auth` of a source or target (docs/http/replication.md#credentials-of-endpoints). All fail with `bad_request`. */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { Credentials } from '../contract.ts';
import { invalid, memberOf } from './request-members.ts';

/** Which credentials the host can use, besides those that stand in the request. */
export interface AuthOptions {
  /** It can send the cookies that the browser has of a peer. Default: false. */
  readonly canSendSession?: boolean | undefined;
  /** An app may provide tokens. Default: false. */
  readonly canAskForTokens?: boolean | undefined;
}

const KINDS = ['basic', 'oauth', 'session', 'bearer'] as const;
const SIGNATURE_METHODS = ['HMAC-SHA1', 'PLAINTEXT'] as const;
/** RFC 6750, 2.1. Other characters could end the header. */
const TOKEN = /^[\w.~+/-]+=*$/;
/** Servers accept no longer header. */
const MAX_TOKEN_LENGTH = 16_384;

/** `part`: the name of the member, for error messages. */
export function parseAuth(part: string, value: unknown, options: AuthOptions): Credentials | undefined {
  if (value === undefined) return undefined;
  if (!isObject(value)) throw invalid(`\`${part}' must be a non-null object.`);
  const [kind, ...others] = KINDS.filter((each) => memberOf(value, each) !== undefined);
  if (kind === undefined || others.length > 0) {
    throw invalid(`\`${part}' must have exactly one of ${KINDS.join(', ')}: write one of them, or remove \`${part}'.`);
  }
  const details = memberOf(value, kind);
  if (kind === 'basic') return parseBasic(`${part}.basic`, details);
  if (kind === 'oauth') return parseOauth(`${part}.oauth`, details);
  return kind === 'session'
    ? parseSession(`${part}.session`, details, options)
    : parseBearer(`${part}.bearer`, details, options);
}

/** Whether a text can be sent as a bearer token. */
export function isToken(text: unknown): text is string {
  return typeof text === 'string' && text.length <= MAX_TOKEN_LENGTH && TOKEN.test(text);
}

function parseBasic(part: string, value: unknown): Credentials {
  return { kind: 'password', name: secret(part, value, 'username'), password: secret(part, value, 'password') };
}

function parseOauth(part: string, value: unknown): Credentials {
  const method = isObject(value) ? (memberOf(value, 'signature_method') ?? 'HMAC-SHA1') : 'HMAC-SHA1';
  const signatureMethod = SIGNATURE_METHODS.find((each) => each === method);
  if (signatureMethod === undefined) {
    throw invalid(`\`${part}.signature_method' must be one of ${SIGNATURE_METHODS.join(', ')}.`);
  }
  return {
    kind: 'oauth',
    consumerKey: secret(part, value, 'consumer_key'),
    consumerSecret: secret(part, value, 'consumer_secret'),
    token: secret(part, value, 'token'),
    tokenSecret: secret(part, value, 'token_secret'),
    signatureMethod,
  };
}

function parseSession(part: string, value: unknown, { canSendSession = false }: AuthOptions): Credentials {
  if (value !== true) throw invalid(`\`${part}' must be true; without a session, remove it.`);
  if (canSendSession) return { kind: 'session' };
  throw invalid(
    `\`${part}' means the session that a user of a page has at the other server, and this service does not run in a browser. Use basic or bearer.`,
  );
}

function parseBearer(part: string, value: unknown, { canAskForTokens = false }: AuthOptions): Credentials {
  const members: JsonObject = isObject(value) ? value : {};
  const token = memberOf(members, 'token');
  const provided = memberOf(members, 'provided');
  if ((token === undefined) === (provided === undefined)) {
    throw invalid(`\`${part}' must be an object with either a string \`token' or \`provided': true.`);
  }
  if (provided === undefined) {
    if (isToken(token)) return { kind: 'bearer', token };
    throw invalid(
      `\`${part}.token' must be a bearer token as it is sent in the header Authorization, without the word Bearer: letters, digits and -._~+/, at most ${MAX_TOKEN_LENGTH} characters.`,
    );
  }
  if (provided !== true) throw invalid(`\`${part}.provided' must be true; without it, give a \`token'.`);
  if (canAskForTokens) return { kind: 'bearer' };
  throw invalid(
    `\`${part}.provided' means a token from the app in a page, and this service has no such app. Give a \`token'.`,
  );
}

function secret(part: string, value: unknown, name: string): string {
  const text = isObject(value) ? ownMember(value, name) : undefined;
  if (typeof text === 'string') return text;
  throw invalid(`\`${part}' must be an object with a string \`${name}'.`);
}
