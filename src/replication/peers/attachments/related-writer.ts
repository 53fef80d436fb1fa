/** Writes documents followed by their attachments (docs/http/attachments.md#multipart-uploads). */
import { type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { SHORT_ANSWER } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { DocumentText, RelatedBody, RelatedRefusal } from '../contract.ts';
import { writeBulk } from '../documents/bulk-docs.ts';
import { documentPath } from '../paths.ts';

/** Statuses that concern the document. */
const OF_DOCUMENT: readonly number[] = [400, 409, 412, 413, 417, 422];
const BAD_REQUEST = 400;
const OF_RIGHTS: readonly number[] = [401, 403];
/** Statuses of peers that accept no such bodies. */
const OF_FORM: readonly number[] = [405, 406, 415, 501];

export async function writeRelated(
  client: PeerClient,
  { id, rev }: DocumentText,
  { type, chunks }: RelatedBody,
): Promise<RelatedRefusal | undefined> {
  const source = new WatchedChunks(chunks);
  const path = `${documentPath(id)}?new_edits=false`;
  const headers = { 'x-couch-full-commit': 'false' };
  const body = { type, chunks: source.read() };
  const accepts = [...OF_RIGHTS, ...OF_DOCUMENT, ...OF_FORM];
  const request = { method: 'PUT', path, headers, body, accepts, retries: 0 };
  const told = await client
    .ask(request, async (answer) => {
      const { status } = answer;
      return status < 300
        ? readWritten(await answer.object(SHORT_ANSWER), rev)
        : { status, ...(await answer.refusal()) };
    })
    // This failure made the request end early, whatever the response was.
    .finally(() => source.throwFailure());
  if (told === undefined) return undefined;
  // Checks whether a function refused this document, or the peer refuses all writes, which then fails.
  if (OF_RIGHTS.includes(told.status)) await writeBulk(client, []);
  const mayBeOfForm = told.status === BAD_REQUEST;
  return {
    isOfForm: OF_FORM.includes(told.status),
    mayBeOfForm,
    refused: { id, rev, error: told.error, reason: told.reason },
  };
}

/** Undefined if the document was written unchanged. */
function readWritten(written: JsonObject, rev: string) {
  const asRev = ownMember(written, 'rev');
  if (typeof asRev !== 'string' || asRev === rev) return undefined;
  return { status: 200, error: 'bad_answer', reason: `the target says that it wrote it as revision ${asRev}` };
}

/** Stores the chunks' failure: the sender reports only that a body was cut off. */
class WatchedChunks {
  #failure: { readonly cause: unknown } | undefined;
  readonly #chunks: AsyncIterable<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  async *read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* this.#chunks;
    } catch (cause) {
      this.#failure = { cause };
      throw cause;
    }
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }
}
