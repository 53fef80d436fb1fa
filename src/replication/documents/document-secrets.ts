/**
 * Keeps the secrets of replication documents encrypted (docs/http/replication.md#secrets-in-replication-documents): a document holds text that
 * only this service can decrypt, only for the same document and owner, and only to send it to the same address. So nobody can have a secret sent
 * elsewhere by copying that text, or use that of another user whose document was deleted. It moves, is replaced and goes with the document's
 * revisions.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { type JsonObject, ownMember } from '../../base/json/objects.ts';
import { fromBase64, fromBase64Url, joinBytes, toBase64, toBase64Url } from '../../base/shared/bytes.ts';
import type { RandomBytes } from '../../base/shared/clock.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { isSealed, replaceSecrets, type Secret, sealedText, toSealed } from './secret-members.ts';

type Subtle = typeof globalThis.crypto.subtle;
type Key = Awaited<ReturnType<Subtle['importKey']>>;

/** Where the key is kept: with the list of databases, which no request reads. */
const NOTE = 'replicator secrets';
const KEY_BYTES = 32;
/** AES-GCM (NIST SP 800-38D, 8.2.2): random, for at most 2^32 secrets. */
const NONCE_BYTES = 12;
/** The length of a text shows no more of a secret's length than this. */
const STEP = 32;

export interface DocumentSecretsOptions {
  readonly registry: () => Pick<Registry, 'notes' | 'keepNote'>;
  readonly random: RandomBytes;
}

export class DocumentSecrets {
  readonly #options: DocumentSecretsOptions;
  #key: Promise<Key | undefined> | undefined;

  constructor(options: DocumentSecretsOptions) {
    this.#options = options;
  }

  /** Whether secrets can be encrypted here. */
  get isPossible(): boolean {
    return hasWebCrypto();
  }

  /** Returns the members of a document that change when its readable secrets are encrypted. Fails with the storage's error. */
  seal(id: string, document: JsonObject): Promise<ReadonlyMap<string, unknown>> {
    const of = identityOf(id, document);
    return replaceSecrets(document, async (secret) => (isSealed(secret.text) ? secret.text : this.#seal(of, secret)));
  }

  /**
   * Returns the document with readable secrets. Fails with `bad_request` if one can't be decrypted: it was encrypted by another service, or
   * for another document, owner, address or proxy.
   */
  async open(id: string, document: JsonObject): Promise<JsonObject> {
    const of = identityOf(id, document);
    const changed = await replaceSecrets(document, async (secret) =>
      isSealed(secret.text) ? this.#open(of, secret) : secret.text,
    );
    return changed.size === 0 ? document : { ...document, ...Object.fromEntries(changed) };
  }

  async #seal(of: Identity, secret: Secret): Promise<string> {
    const key = await this.#keyToSeal();
    if (key === undefined) return secret.text;
    const nonce = this.#options.random(new Uint8Array(NONCE_BYTES));
    const text = JSON.stringify(secret.text);
    const padded = text.padEnd(Math.ceil(text.length / STEP) * STEP);
    const plain = new TextEncoder().encode(padded);
    const encrypted = await crypto.subtle.encrypt(parametersOf(nonce, of, secret), key, plain);
    return toSealed(toBase64Url(joinBytes([nonce, new Uint8Array(encrypted)])));
  }

  async #open(of: Identity, secret: Secret): Promise<string> {
    const bytes = fromBase64Url(sealedText(secret.text));
    const key = await this.#keyToOpen();
    if (bytes === undefined || key === undefined) throw notReadable(secret);
    const nonce = bytes.slice(0, NONCE_BYTES);
    try {
      const plain = await crypto.subtle.decrypt(parametersOf(nonce, of, secret), key, bytes.slice(NONCE_BYTES));
      return String(JSON.parse(new TextDecoder().decode(plain)));
    } catch {
      throw notReadable(secret);
    }
  }

  /** Undefined on a host without WebCrypto, such as a page that came over plain http; it keeps its database in memory. */
  async #keyToSeal(): Promise<Key | undefined> {
    const known = await this.#keyToOpen();
    if (known !== undefined || !hasWebCrypto()) return known;
    this.#key ??= this.#makeKey().catch((failure: unknown) => {
      this.#key = undefined;
      throw failure;
    });
    return this.#key;
  }

  /** Undefined if there is none. */
  async #keyToOpen(): Promise<Key | undefined> {
    if (this.#key !== undefined) return this.#key;
    const text = this.#options.registry().notes.get(NOTE);
    const bytes = text === undefined ? undefined : fromBase64(text);
    if (bytes === undefined || !hasWebCrypto()) return undefined;
    this.#key = importKey(bytes);
    return this.#key;
  }

  async #makeKey(): Promise<Key> {
    const bytes = this.#options.random(new Uint8Array(KEY_BYTES));
    await this.#options.registry().keepNote(NOTE, toBase64(bytes));
    return importKey(bytes);
  }
}

function hasWebCrypto(): boolean {
  const { subtle }: { readonly subtle?: Subtle } = crypto;
  return subtle !== undefined;
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<Key> {
  return crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
}

/** A document: its id, and its owner. */
type Identity = readonly [id: string, owner: string | null];

/** A document without an owner is one of an admin. */
function identityOf(id: string, document: JsonObject): Identity {
  const owner = ownMember(document, 'owner');
  return [id, typeof owner === 'string' ? owner : null];
}

/** What the text is bound to. */
function parametersOf(iv: Uint8Array<ArrayBuffer>, of: Identity, { form, address, proxy }: Secret) {
  const additionalData = new TextEncoder().encode(JSON.stringify([...of, form, address, proxy]));
  return { name: 'AES-GCM', iv, additionalData };
}

function notReadable({ part, address }: Secret): DatabaseError {
  const where = address === '' || isSealed(address) ? '' : ` (for ${address})`;
  return new DatabaseError(
    'bad_request',
    `The secret in \`${part}'${where} can't be read here: it was stored by another server, in another document, or for another owner, address or proxy. Write the secret itself in its place.`,
  );
}
