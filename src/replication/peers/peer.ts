/** One end of a replication: a database that is accessed by the HTTP interface, wherever it is. */

import type { ErrorCode } from '../../base/errors/database-error.ts';
import { isObject, ownMember } from '../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import type { RefusedDocument } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import { readSequence } from './changes/changes-request.ts';
import { ChangesSource } from './changes/changes-source.ts';
import { SHORT_ANSWER } from './client/answer.ts';
import type { PeerClient } from './client/peer-client.ts';
import type {
  AttachedDocument,
  ChangesListing,
  ChangesPage,
  ChangesRequest,
  DocumentText,
  FoundDocument,
  MissingRevisions,
  PeerInfo,
  RelatedBody,
  RelatedRefusal,
  StoredCheckpoint,
  WantedDocument,
} from './contract.ts';
import { DocumentReader } from './documents/document-reader.ts';
import { DocumentWriter } from './documents/document-writer.ts';
import { readMissing } from './documents/missing-revisions.ts';
import { RelatedReader } from './documents/related-reader.ts';
import { writeRelated } from './documents/related-writer.ts';
import { documentPath, isEarlierRevision } from './identifiers.ts';

/** The `instance_start_time` of later versions, which means nothing. */
const SAME_OF_ALL = '0';
const MAX_INSTANCE_LENGTH = 200;
/** Characters of a checkpoint: 50 sessions with their sequences, which are long at some servers, and with refused documents. */
const MAX_CHECKPOINT_LENGTH = 4_194_304;
/** Characters of a design document that has a filter. */
const MAX_DESIGN_LENGTH = 33_554_432;
/** The interval between signs of life of a local peer, which needs none. */
const NEVER_MS = 86_400_000;
/** A peer gives at least this many signs of life within the longest silence. */
const SIGNS = 3;
/** How often a checkpoint is written again over what someone else wrote. */
const CHECKPOINT_ATTEMPTS = 3;
/** Statuses of peers that are read-only. The first one may also mean that the credentials have just ended. */
const UNAUTHORIZED = 401;
const READ_ONLY: readonly number[] = [UNAUTHORIZED, 403, 405];
/** A peer without free space can still be read. */
const FULL = 507;
/** Statuses that concern the content of a checkpoint. */
const TOO_LARGE = 413;
const OF_CONTENT: readonly number[] = [400, TOO_LARGE, 422];
/** Statuses of peers that make everything durable by themselves; and of a database that is gone. */
const NO_COMMITS: readonly number[] = [404, 405, 501];

/** Everything fails with `ReplicationError`. */
export class Peer {
  /** The database's name for people: without credentials. */
  readonly name: string;
  readonly isLocal: boolean;
  readonly #client: PeerClient;
  readonly #changes: ChangesSource;
  readonly #reader: DocumentReader;
  readonly #writer: DocumentWriter;
  readonly #relatedReader: RelatedReader;
  #canCommit = true;

  /** `newBoundary` returns texts that occur in no document by chance. */
  constructor(client: PeerClient, connectionTimeoutMs: number, newBoundary: () => string) {
    this.name = client.name;
    this.isLocal = client.isLocal;
    this.#client = client;
    const heartbeatMs = client.isLocal ? NEVER_MS : Math.max(1, Math.floor(connectionTimeoutMs / SIGNS));
    this.#changes = new ChangesSource(client, heartbeatMs);
    this.#reader = new DocumentReader(client);
    this.#writer = new DocumentWriter(client);
    this.#relatedReader = new RelatedReader(client, newBoundary);
  }

  /** Undefined if there is no such database. */
  info(): Promise<PeerInfo | undefined> {
    return this.#client.ask({ method: 'GET', path: '', accepts: [404] }, async (answer) => {
      if (answer.status === 404) {
        await answer.discard();
        return undefined;
      }
      const info = await answer.object(SHORT_ANSWER);
      const updateSeq = answer.useable(() => readSequence(ownMember(info, 'update_seq')));
      return { updateSeq, instance: instanceOf(info) };
    });
  }

  /** Creates the database; an existing one is left unchanged. */
  create(): Promise<void> {
    // 412: it already exists.
    return this.#client.ask({ method: 'PUT', path: '', accepts: [412] }, (answer) => answer.discard());
  }

  /**
   * Makes all that was written durable, if the peer supports that. Returns `PeerInfo.instance`. Fails with `db_not_found` if the
   * database does not exist any more.
   */
  async commit(): Promise<string | undefined> {
    if (this.#canCommit) {
      const request = { method: 'POST', path: '/_ensure_full_commit', body: '', accepts: NO_COMMITS };
      const outcome = await this.#client.ask(request, async (answer) => {
        if (answer.status < 300) {
          const told = await answer.object(SHORT_ANSWER);
          // A checkpoint must not say that something is durable if it may not be.
          if (ownMember(told, 'ok') !== true) throw answer.unusable('it does not say that everything is durable');
          return { instance: instanceOf(told) };
        }
        await answer.discard();
        return undefined;
      });
      if (outcome !== undefined) return outcome.instance;
    }
    const info = await this.info();
    if (info === undefined) {
      throw new ReplicationError('db_not_found', `${this.name} does not exist any more`, { isRetryable: true });
    }
    this.#canCommit = false;
    return info.instance;
  }

  /** Undefined if there is none, or none that is readable. */
  async readCheckpoint(id: string): Promise<StoredCheckpoint | undefined> {
    const stored = await this.#readLocal(id);
    return stored === undefined ? undefined : { value: stored, rev: textOf(stored['_rev']) };
  }

  /**
   * Replaces the document, also if someone else wrote it in the meantime, and returns its revision. `known`: the revision last
   * seen. Writes nothing and returns undefined if the stored revision is older: the database has lost something, or is another one.
   * Fails with `forbidden` if the peer accepts none, and with `storage_full` if it has no space for it now. `isJustSeen`: it was the stored one a moment ago.
   */
  async writeCheckpoint(
    id: string,
    members: string,
    known: string | undefined,
    isJustSeen = false,
  ): Promise<string | undefined> {
    // This service writes nothing over another revision than the given one; other servers may, so their document is read first.
    let wasUnauthorized = false;
    for (let attempt = this.isLocal || isJustSeen ? 0 : 1; ; attempt++) {
      const stored = attempt === 0 ? { _rev: known } : ((await this.#readLocal(id)) ?? {});
      const rev = textOf(stored['_rev']);
      if (isEarlierRevision(rev, known)) return undefined;
      // The response to an earlier attempt was lost on the way.
      if (attempt > 1 && hasMembers(stored, members)) return rev;
      const own = rev === undefined ? '' : `"_rev":${JSON.stringify(rev)},`;
      const body = `{"_id":${JSON.stringify(`_local/${id}`)},${own}${members.slice(1)}`;
      const request = {
        method: 'PUT',
        path: documentPath(`_local/${id}`),
        body,
        accepts: [409, FULL, ...READ_ONLY, ...OF_CONTENT],
      };
      const outcome = await this.#client.ask(request, async (answer) => {
        const { status } = answer;
        return status < 300
          ? { rev: textOf((await answer.object(SHORT_ANSWER))['rev']) }
          : { status, ...(await answer.refusal()) };
      });
      if (!('status' in outcome)) return outcome.rev ?? '';
      // If the credentials have ended, reading the document again fails, or gets others.
      if (outcome.status === UNAUTHORIZED && !wasUnauthorized) {
        wasUnauthorized = true;
        continue;
      }
      // A document that was readable a moment ago, and can't be written, is read-only here.
      if (READ_ONLY.includes(outcome.status)) throw takesNoCheckpoint(this.name, outcome, 'forbidden');
      if (outcome.status === FULL) throw takesNoCheckpoint(this.name, outcome, 'storage_full');
      if (OF_CONTENT.includes(outcome.status)) {
        throw takesNoCheckpoint(this.name, outcome, outcome.status === TOO_LARGE ? 'too_large' : 'bad_request');
      }
      if (attempt < CHECKPOINT_ATTEMPTS) continue;
      const reason = `The checkpoint in ${this.name} is overwritten by others again and again. Another replication may use the same id: see that only one of them runs.`;
      throw new ReplicationError('replication_failed', reason, { isRetryable: true });
    }
  }

  /** Returns the source text of a filter function. Fails with `not_found` if there is none. */
  filterSource(design: string, name: string): Promise<string> {
    const names = `filter ${design}/${name}`;
    return this.#client.ask({ method: 'GET', path: documentPath(`_design/${design}`), names }, async (answer) => {
      const filters = ownMember(await answer.object(MAX_DESIGN_LENGTH), 'filters');
      const source = isObject(filters) ? ownMember(filters, name) : undefined;
      if (typeof source === 'string') return source;
      throw new ReplicationError('not_found', `${this.name} has no ${names}`, { isRetryable: false });
    });
  }

  changes(request: ChangesRequest): Promise<ChangesListing> {
    return this.#changes.read(request);
  }

  /**
   * Passes changes after `since` to `take`, as soon as they arrive; reads no more until `take` has resolved. Resolves when the feed has
   * ended, or was cut off: it may be another database then.
   */
  follow(request: ChangesRequest, take: (page: ChangesPage) => Promise<void>): Promise<void> {
    return this.#changes.follow(request, take);
  }

  /**
   * Returns the given revisions that the database lacks, and no others. Passes those that it can't judge, because
   * no document may have such an id or revision there, to `refuse`.
   */
  missing(
    revisions: ReadonlyMap<string, readonly string[]>,
    refuse: (refused: RefusedDocument) => void,
  ): Promise<readonly MissingRevisions[]> {
    return readMissing(this.#client, [...revisions], refuse);
  }

  /**
   * Reads documents with their ancestry. Passes each to `take` as it arrives, which may be a newer revision than the requested one;
   * unreadable ones are passed as refused. Each wanted revision is settled by one of the two. `attachments`: with the content of those that
   * the target lacks, if it is not long; it is checked against `WantedDocument.stubs`.
   */
  documents(
    wanted: readonly WantedDocument[],
    options: { readonly attachments: boolean },
    take: (found: FoundDocument) => Promise<void>,
  ): Promise<void> {
    return this.#reader.read(wanted, options, this.#changes.chosen(take));
  }

  /**
   * Reads a document followed by the content of attachments. Returns the result of `use`. Fails with `not_found` if the revision is
   * gone, or an attachment of it, and with `ContentMismatch` if the content does not match the stubs.
   */
  readRelated<T>(document: AttachedDocument, use: (body: RelatedBody) => Promise<T>): Promise<T> {
    return this.#relatedReader.read(document, use);
  }

  /** Writes such a document; undefined if the peer accepted it. Fails as the body fails. It is not sent twice. */
  writeRelated(document: DocumentText, body: RelatedBody): Promise<RelatedRefusal | undefined> {
    return writeRelated(this.#client, document, body);
  }

  /** Writes revisions unchanged. Returns those that were refused. */
  write(documents: readonly DocumentText[]): Promise<readonly RefusedDocument[]> {
    return this.#writer.write(documents);
  }

  /** Whether a failure concerns what was requested here, and not the whole database. */
  isOfRequest(failure: unknown): Promise<boolean> {
    return this.#client.isOfRequest(failure);
  }

  #readLocal(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const request = { method: 'GET', path: documentPath(`_local/${id}`), accepts: [403, 404, 405] };
    return this.#client.ask(request, async (answer) => {
      if (answer.status < 300) return answer.object(MAX_CHECKPOINT_LENGTH);
      await answer.discard();
      return undefined;
    });
  }
}

function takesNoCheckpoint(
  name: string,
  { status, error, reason }: { status: number; error: string; reason: string },
  code: ErrorCode,
): ReplicationError {
  return new ReplicationError(code, `${name} answered ${status} ${error}: ${reason}`, { isRetryable: false });
}

function instanceOf(info: Readonly<Record<string, unknown>>): string | undefined {
  const started = ownMember(info, 'instance_start_time');
  if (typeof started !== 'string' || started === SAME_OF_ALL) return undefined;
  // It becomes part of checkpoints.
  return started.length <= MAX_INSTANCE_LENGTH && !hasLoneSurrogate(started) ? started : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function hasMembers(stored: Readonly<Record<string, unknown>>, members: string): boolean {
  const wanted: Readonly<Record<string, unknown>> = JSON.parse(members);
  return Object.entries(wanted).every(([name, value]) => JSON.stringify(stored[name]) === JSON.stringify(value));
}
