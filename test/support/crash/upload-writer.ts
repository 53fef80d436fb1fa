import { createCipheriv, createHash } from 'node:crypto';
import { must } from '../../../src/base/shared/assert.ts';
import { at, stringAt } from '../conformance/json.ts';
import { SeededRandom } from '../seeded-random.ts';
import { type Answer, type Connection, ConnectionLost } from './connection.ts';
import type { Ledger, Observed } from './ledger.ts';

/** Each client has this many documents, with attachments of these names. */
const DOCUMENTS = 4;
const NAMES = ['a', 'b/c.bin', 'ü'] as const;
/** Contents that all clients upload again and again, so that documents share bytes. */
const COMMON = 8;
/** An upload commits a megabyte at a time; larger ones are also broken off between two commits. */
const MEGABYTE = 2 ** 20;
const MAX_SIZES = [1_000, 200_000, 200_000, 2 * MEGABYTE, 3 * MEGABYTE, 8 * MEGABYTE] as const;

interface UploadWriterParts {
  readonly database: string;
  /** Part of every id that this client writes, so that no two write the same document. */
  readonly name: string;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
}

/** The content of a document without its id and revision: in the ledger as JSON, with its names in order. */
interface Content {
  readonly n?: unknown;
  /** By name, as `describeBytes` returns them. */
  readonly files: Readonly<Record<string, string>>;
}

/** An attachment on its way to a document. */
interface File {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** One client of a server that is about to be killed: uploads attachments in every way there is, and keeps the ledger. */
export class UploadWriter {
  readonly #parts: UploadWriterParts;
  #made = 0;
  #isUploading = false;

  constructor(parts: UploadWriterParts) {
    this.#parts = parts;
  }

  /** Whether a request with attachments is in progress. */
  get isUploading(): boolean {
    return this.#isUploading;
  }

  /** Uploads until the server goes away. */
  async run(connection: Connection): Promise<void> {
    this.#isUploading = false;
    try {
      for (;;) await this.#writeSomething(connection);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    } finally {
      connection.close();
    }
  }

  async #writeSomething(connection: Connection): Promise<void> {
    const { name, random } = this.#parts;
    const id = `${name}-${random.between(1, DOCUMENTS)}`;
    const dice = random.between(1, 100);
    if (dice > 92) return this.#delete(connection, id);
    this.#isUploading = true;
    if (dice <= 45) await this.#putAttachment(connection, id);
    else if (dice <= 70) await this.#putRelated(connection, id);
    else if (dice <= 80) await this.#putInline(connection, id);
    else await this.#breakOff(connection, id);
    this.#isUploading = false;
  }

  async #putAttachment(connection: Connection, id: string): Promise<void> {
    const [file] = this.#newFiles(1);
    const { name, type, bytes } = must(file);
    const before = this.#contentOf(id);
    const files = { ...before?.files, [name]: describeBytes(bytes) };
    const path = this.#attachmentPath(id, name, this.#propose(id, { n: before?.n, files }));
    await this.#confirm(
      id,
      connection.ask({ method: 'PUT', path, body: bytes, headers: { 'content-type': type } }),
      201,
    );
  }

  /** The document followed by new attachments, with some of those that it had, and without the others. */
  async #putRelated(connection: Connection, id: string): Promise<void> {
    const brought = this.#newFiles(this.#parts.random.between(1, 2));
    const { rev, document } = this.#proposeWith(id, brought, ({ type, bytes }) => ({
      follows: true,
      content_type: type,
      length: bytes.length,
    }));
    const head = `--x\r\ncontent-type: application/json\r\n\r\n${JSON.stringify({ ...document, _id: id, _rev: rev })}`;
    const pieces = brought.flatMap(({ bytes }) => [Buffer.from('\r\n--x\r\n\r\n'), bytes]);
    const body = Buffer.concat([Buffer.from(head), ...pieces, Buffer.from('\r\n--x--')]);
    const headers = { 'content-type': 'multipart/related; boundary=x' };
    await this.#confirm(id, connection.ask({ method: 'PUT', path: this.#path(id), body, headers }), 201);
  }

  async #putInline(connection: Connection, id: string): Promise<void> {
    const brought = this.#newFiles(1).map((file) => ({ ...file, bytes: file.bytes.subarray(0, 1_500_000) }));
    const { rev, document } = this.#proposeWith(id, brought, ({ type, bytes }) => ({
      content_type: type,
      data: Buffer.from(bytes).toString('base64'),
    }));
    const body = JSON.stringify({ ...document, _id: id, _rev: rev });
    await this.#confirm(id, connection.ask({ method: 'PUT', path: this.#path(id), body }), 201);
  }

  /** A client that hangs up in the middle has written nothing. */
  async #breakOff(connection: Connection, id: string): Promise<void> {
    const { random, ledger } = this.#parts;
    const [file] = this.#newFiles(1);
    const { name, type, bytes } = must(file);
    const settled = ledger.settled(id);
    const path = this.#attachmentPath(id, name, settled?.text === undefined ? undefined : settled.rev);
    const question = { method: 'PUT', path, body: bytes, headers: { 'content-type': type } };
    await connection.breakOff(question, random.between(0, Math.max(bytes.length - 1, 0)));
  }

  async #delete(connection: Connection, id: string): Promise<void> {
    const { ledger } = this.#parts;
    if (ledger.settled(id)?.text === undefined) return;
    const path = `${this.#path(id)}?rev=${ledger.propose(id, undefined)}`;
    await this.#confirm(id, connection.ask({ method: 'DELETE', path }), 200);
  }

  async #confirm(id: string, asked: Promise<Answer>, status: number): Promise<void> {
    const answer = await asked;
    if (answer.status !== status) {
      throw new Error(`${id} was answered with ${answer.status}: ${JSON.stringify(answer.json)?.slice(0, 2_000)}`);
    }
    this.#parts.ledger.acknowledge(id, stringAt(answer.json, 'rev'));
  }

  /** The document with the files and half of those that it had; `describe` returns the entries of the new ones. */
  #proposeWith(id: string, brought: readonly File[], describe: (file: File) => object) {
    const { random } = this.#parts;
    const added = new Set(brought.map(({ name }) => name));
    const known = Object.entries(this.#contentOf(id)?.files ?? {});
    const kept = known.filter(([name]) => !added.has(name) && random.chance(50));
    const files = Object.fromEntries([
      ...kept,
      ...brought.map(({ name, bytes }) => [name, describeBytes(bytes)] as const),
    ]);
    const n = random.between(1, 1_000_000);
    const stubs = kept.map(([name]) => [name, { stub: true }] as const);
    const entries = brought.map((file) => [file.name, describe(file)] as const);
    const document = { n, _attachments: Object.fromEntries([...stubs, ...entries]) };
    return { rev: this.#propose(id, { n, files }), document };
  }

  #propose(id: string, content: Content): string | undefined {
    return this.#parts.ledger.propose(id, toText(content));
  }

  #contentOf(id: string): Content | undefined {
    const text = this.#parts.ledger.settled(id)?.text;
    return text === undefined ? undefined : (JSON.parse(text) as Content);
  }

  /** Files under different names, some of a type that is compressed. */
  #newFiles(count: number): File[] {
    const { random } = this.#parts;
    const first = random.between(0, NAMES.length - 1);
    return Array.from({ length: count }, (_, index) => {
      const bytes = this.#newBytes();
      const type = bytes.length < 100_000 && random.chance(30) ? 'text/plain' : 'application/octet-stream';
      return { name: must(NAMES[(first + index) % NAMES.length]), type, bytes };
    });
  }

  #newBytes(): Uint8Array {
    const { name, random } = this.#parts;
    const isCommon = random.chance(30);
    return bytesOf(isCommon ? `common-${random.between(1, COMMON)}` : `${name}-${++this.#made}`, random);
  }

  #path(id: string): string {
    return `${this.#parts.database}/${id}`;
  }

  #attachmentPath(id: string, name: string, rev: string | undefined): string {
    const path = `${this.#path(id)}/${encodeName(name)}`;
    return rev === undefined ? path : `${path}?rev=${rev}`;
  }
}

/** The same bytes for the same common content; the size of other content is random. */
function bytesOf(content: string, random: SeededRandom): Uint8Array {
  const key = createHash('md5').update(content).digest();
  const chosen = content.startsWith('common-') ? new SeededRandom(key.readUInt32LE(0)) : random;
  const largest = chosen.oneOf(MAX_SIZES) ?? 0;
  const size = chosen.between(Math.min(largest, MEGABYTE), largest);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

/** Returns what a server shows of a document, with the bytes of all of its attachments. */
export async function observe(connection: Connection, database: string, id: string): Promise<Observed> {
  const { status, json } = await connection.ask({ method: 'GET', path: `${database}/${id}` });
  if (status === 404) return observeDeleted(connection, database, id);
  const files: Record<string, string> = {};
  for (const [name, stub] of Object.entries(Object(at(json, '_attachments')))) {
    const path = `${database}/${id}/${encodeName(name)}`;
    files[name] = await describeAttachment(connection, path, at(stub, 'length'));
  }
  return { rev: stringAt(json, '_rev'), text: toText({ n: at(json, 'n'), files }) };
}

async function describeAttachment(connection: Connection, path: string, length: unknown): Promise<string> {
  try {
    const { status, bytes } = await connection.askBytes({ method: 'GET', path });
    return status === 200 && length === bytes.length ? describeBytes(bytes) : `${status}, ${bytes.length} bytes`;
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    return 'breaks off';
  }
}

function encodeName(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/');
}

async function observeDeleted(connection: Connection, database: string, id: string): Promise<Observed> {
  const body = JSON.stringify({ keys: [id] });
  const { json } = await connection.ask({ method: 'POST', path: `${database}/_all_docs`, body });
  const isDeleted = at(json, 'rows', 0, 'value', 'deleted') === true;
  return isDeleted ? { rev: stringAt(json, 'rows', 0, 'value', 'rev'), text: undefined } : undefined;
}

function toText({ n, files }: Content): string {
  const sorted = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify({ n, files: Object.fromEntries(sorted) });
}

function describeBytes(bytes: Uint8Array): string {
  return `${bytes.length} bytes, ${createHash('md5').update(bytes).digest('hex')}`;
}
