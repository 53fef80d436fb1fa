import type { JournalRecord } from '../../page-store.ts';
import { bytesArray, int8Array } from '../binary-arrays.ts';
import type { ConnectionPool, Row, Statement } from '../connection-pool.ts';
import { bytesOf, numberOf, textOf } from '../values.ts';

/** Files in one statement, and bytes of journals that it returns, at about. */
const MAX_FILES = 256;
const STATEMENT_BYTES = 4 * 2 ** 20;
/** Bytes of the journal of a file, if the files of a statement are many. A record may have more. */
const MIN_FILE_BYTES = 2 ** 16;

export interface PollRequest {
  /** The file's id. */
  readonly id: string;
  /** How far the follower has read: 0 for an epoch if it has read nothing. */
  readonly epoch: number;
  /** SHA-256 of the head; empty if there is none. */
  readonly headHash: Uint8Array;
  readonly record: number;
}

/** What the database holds of a file, all as of one moment. */
export interface Polled {
  readonly epoch: number;
  /** See `Ownership.owner`; undefined if a release opened the file that does not store it. */
  readonly owner: string | undefined;
  readonly format: number;
  /** Of the storage, see `Registration`. */
  readonly generation: number;
  /** Whether epoch and head are those of the request. If so, there is no `head`, and `records` are those after the request's. */
  readonly isSame: boolean;
  readonly head: string | undefined;
  /** Ascending. Without the last ones if they are too large for one statement. */
  readonly records: readonly JournalRecord[];
  readonly isWhole: boolean;
}

interface WaitingPoll {
  readonly request: PollRequest;
  readonly resolve: (polled: Polled | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Polls files. Those of one turn of the event loop share a statement, and while half of the connections are busy with polls, those that wait share the
 * next one. A statement is sent after the polls that it answers were requested, so it sees what was committed before.
 */
export class Polls {
  readonly #pool: ConnectionPool;
  readonly #statement: Statement;
  readonly #mostAtOnce: number;
  #waiting: WaitingPoll[] = [];
  #isDue = false;
  #running = 0;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.#statement = pollStatement(pool.address.schema);
    this.#mostAtOnce = Math.max(1, Math.floor(pool.address.pool / 2));
  }

  /** Returns undefined if the file was removed. Fails with the error of the database server. */
  poll(request: PollRequest): Promise<Polled | undefined> {
    const polled = new Promise<Polled | undefined>((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
    });
    this.#sendSoon();
    return polled;
  }

  #sendSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      while (this.#waiting.length > 0 && this.#running < this.#mostAtOnce) {
        void this.#send(this.#waiting.splice(0, MAX_FILES));
      }
    });
  }

  async #send(polls: readonly WaitingPoll[]): Promise<void> {
    this.#running += 1;
    try {
      const requests = polls.map(({ request }) => request);
      const values = [
        int8Array(requests.map(({ id }) => Number(id))),
        int8Array(requests.map(({ epoch }) => epoch)),
        bytesArray(requests.map(({ headHash }) => headHash)),
        int8Array(requests.map(({ record }) => record)),
        Math.max(MIN_FILE_BYTES, Math.floor(STATEMENT_BYTES / polls.length)),
      ];
      const rows = await this.#pool.repeat('following its files', (connection) =>
        connection.query(this.#statement, values),
      );
      const found = byRequest(rows);
      for (const [at, { resolve }] of polls.entries()) resolve(polledOf(found.get(at + 1) ?? []));
    } catch (error) {
      for (const { reject } of polls) reject(error);
    } finally {
      this.#running -= 1;
      if (this.#waiting.length > 0) this.#sendSoon();
    }
  }
}

function byRequest(rows: readonly Row[]): Map<number, Row[]> {
  const found = new Map<number, Row[]>();
  for (const row of rows) {
    const at = numberOf(row['at']);
    const others = found.get(at);
    if (others === undefined) found.set(at, [row]);
    else others.push(row);
  }
  return found;
}

/** `rows`: one for each record, or a single one without a record. */
function polledOf(rows: readonly Row[]): Polled | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const records = rows.flatMap((row) =>
    row['number'] === null ? [] : [{ number: numberOf(row['number']), text: textOf(bytesOf(row['value'])) }],
  );
  return {
    epoch: numberOf(first['epoch']),
    owner: first['owner'] === null ? undefined : String(first['owner']),
    format: numberOf(first['format']),
    generation: numberOf(first['generation']),
    isSame: first['is_same'] === true,
    head: first['head'] === null ? undefined : textOf(bytesOf(first['head'])),
    records,
    isWhole: records.length === 0 || records.at(-1)?.number === numberOf(first['last']),
  };
}

/** ids of files, epochs, hashes of heads, numbers of records, bytes of the journal of each file. No row for a file that is not there. */
function pollStatement(schema: string): Statement {
  const text = `WITH found AS MATERIALIZED (
  SELECT wanted.at, wanted.record, file.id, file.epoch, file.owner, file.format, file.head, file.truncated,
    file.epoch = wanted.epoch AND coalesce(sha256(file.head), '') = wanted.head AS is_same
  FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) WITH ORDINALITY AS wanted (id, epoch, head, record, at)
  JOIN ${schema}.files AS file ON file.id = wanted.id AND file.name IS NOT NULL
)
SELECT found.at, found.epoch, found.owner, found.format, found.is_same, added.number, added.value, added.last,
  CASE WHEN NOT found.is_same AND coalesce(added.before, 0) = 0 THEN found.head END AS head,
  (SELECT generation FROM ${schema}.format WHERE format.id = 1) AS generation
FROM found LEFT JOIN LATERAL (
  SELECT number, value, last, before FROM (
    SELECT number, value, max(number) OVER () AS last, sum(octet_length(value)) OVER (ORDER BY number) - octet_length(value) AS before
    FROM ${schema}.journal
    WHERE file = found.id AND number >= found.truncated AND number > CASE WHEN found.is_same THEN found.record ELSE 0 END
  ) AS numbered WHERE before < $5::bigint
) AS added ON true
ORDER BY found.at, added.number`;
  return { name: 'settee_poll', text };
}
