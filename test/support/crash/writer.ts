import { at, stringAt } from '../conformance/json.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { type Answer, type Connection, ConnectionLost } from './connection.ts';
import type { Ledger } from './ledger.ts';

/** Documents in one `_bulk_docs` request. */
const BULK = 50;
/** More than a body page, sometimes more than the largest page. */
const LARGE = [40_000, 300_000, 1_500_000] as const;
const LOCALS = 3;

interface WriterParts {
  readonly database: string;
  /** Part of every id that this client writes, so that no two write the same document. */
  readonly name: string;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  /** Whether all writes ask for more than surviving the end of the process. Default: a few of them. */
  readonly isDurable?: boolean;
  /** Called after every response that confirmed something. */
  readonly onAcknowledged: () => void;
}

/** A response that does not confirm a write: whether it was carried out is in its reason. */
export class RefusedWrite extends Error {
  readonly status: number;

  constructor(what: string, { status, json }: Answer) {
    super(`${what} was answered with ${status}: ${JSON.stringify(json)?.slice(0, 2_000)}`);
    this.status = status;
  }
}

/**
 * One client of a server that is about to be killed: writes one request after another, in a mixture of all kinds, and
 * keeps the ledger. It remembers its live documents from one server to the next.
 */
export class CrashWriter {
  readonly #parts: WriterParts;
  readonly #known: string[] = [];
  #made = 0;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** Writes until the server goes away, or `signal` is aborted and the response has come. Fails with `RefusedWrite` if a write is refused. */
  async run(connection: Connection, signal?: AbortSignal): Promise<void> {
    try {
      while (signal?.aborted !== true) {
        await this.#writeSomething(connection);
        this.#parts.onAcknowledged();
      }
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
    } finally {
      connection.close();
    }
  }

  #writeSomething(connection: Connection): Promise<void> {
    const { random } = this.#parts;
    const dice = random.between(1, 100);
    if (dice <= 35) return this.#put(connection, this.#newId(), this.#smallText());
    if (dice <= 62) return this.#put(connection, this.#knownId(), this.#smallText());
    if (dice <= 74) return this.#delete(connection, this.#knownId());
    if (dice <= 93) return this.#writeLocal(connection);
    if (dice <= 98) return this.#bulk(connection);
    return this.#put(connection, random.chance(50) ? this.#newId() : this.#knownId(), this.#largeText());
  }

  async #put(connection: Connection, id: string, text: string): Promise<void> {
    const rev = this.#parts.ledger.propose(id, text);
    const answer = await connection.ask({
      method: 'PUT',
      path: this.#path(id),
      body: withMeta(text, id, rev),
      headers: this.#commitHeader(),
    });
    this.#confirm(id, answer, 201);
  }

  async #delete(connection: Connection, id: string): Promise<void> {
    const { ledger } = this.#parts;
    if (ledger.settled(id)?.text === undefined) return this.#put(connection, id, this.#smallText());
    const rev = ledger.propose(id, undefined);
    const path = `${this.#path(id)}?rev=${rev}`;
    this.#confirm(id, await connection.ask({ method: 'DELETE', path, headers: this.#commitHeader() }), 200);
  }

  #writeLocal(connection: Connection): Promise<void> {
    const { name, random } = this.#parts;
    const id = `_local/${name}-${random.between(1, LOCALS)}`;
    return random.chance(15) ? this.#delete(connection, id) : this.#put(connection, id, this.#smallText());
  }

  /** Creates, updates and deletes in one request. */
  async #bulk(connection: Connection): Promise<void> {
    const { ledger, random, database } = this.#parts;
    const ids = new Set<string>();
    while (ids.size < BULK) ids.add(random.chance(60) ? this.#newId() : this.#knownId());
    const documents = Array.from(ids, (id) => {
      const isDeletion = random.chance(15) && ledger.settled(id)?.text !== undefined;
      const text = isDeletion ? undefined : this.#smallText();
      return withMeta(text ?? '{"_deleted":true}', id, ledger.propose(id, text));
    });
    const body = `{"docs":[${documents.join()}]}`;
    const answer = await connection.ask({
      method: 'POST',
      path: `${database}/_bulk_docs`,
      body,
      headers: this.#commitHeader(),
    });
    if (answer.status !== 201) throw new RefusedWrite('_bulk_docs', answer);
    let row = 0;
    for (const id of ids) {
      if (at(answer.json, row, 'id') !== id || at(answer.json, row, 'ok') !== true)
        throw new RefusedWrite(`${id} in _bulk_docs`, answer);
      ledger.acknowledge(id, stringAt(answer.json, row++, 'rev'));
    }
  }

  #confirm(id: string, answer: Answer, status: number): void {
    if (answer.status !== status) throw new RefusedWrite(id, answer);
    this.#parts.ledger.acknowledge(id, stringAt(answer.json, 'rev'));
  }

  #path(id: string): string {
    return `${this.#parts.database}/${id}`;
  }

  /** Some writes request more than surviving a crash of the process; that must not make them survive less. */
  #commitHeader(): Record<string, string> {
    const { isDurable = false, random } = this.#parts;
    return isDurable || random.chance(5) ? { 'x-svc-full-commit': 'true' } : {};
  }

  /** Half in creation order, half spread over the whole by-id order. */
  #newId(): string {
    const { name, random } = this.#parts;
    const count = String(++this.#made).padStart(6, '0');
    const id = random.chance(50) ? `${name}-${count}` : `${random.hexDigits(12)}-${name}-${count}`;
    this.#known.push(id);
    return id;
  }

  #knownId(): string {
    return this.#parts.random.oneOf(this.#known) ?? this.#newId();
  }

  #smallText(): string {
    const { random } = this.#parts;
    const words = Array.from({ length: random.between(2, 12) }, () => random.hexDigits(random.between(1, 30)));
    return JSON.stringify({
      number: random.between(-1_000_000, 1_000_000),
      words,
      inner: { größe: random.fraction() },
    });
  }

  #largeText(): string {
    const { random } = this.#parts;
    const length = random.oneOf(LARGE) ?? LARGE[0];
    return JSON.stringify({ large: random.hexDigits(64).repeat(length / 64), number: random.between(1, 1_000) });
  }
}

/** The document's text with its id and revision before its other members. */
function withMeta(text: string, id: string, rev: string | undefined): string {
  const meta = rev === undefined ? { _id: id } : { _id: id, _rev: rev };
  return `${JSON.stringify(meta).slice(0, -1)},${text.slice(1)}`;
}
