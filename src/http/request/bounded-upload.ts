/** The maximum bytes of a request's body, `httpd/max_http_request_size`, whatever is in it: JSON and attachments have bounds of their own beside it. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ByteStream, PlainHeaders, RequestBody } from '../../base/shared/message.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import { isStream } from './bodies.ts';

/** The setting is at least this, so bodies up to here need not be compared with it. */
const ALWAYS_BYTES = 65_536;

/** Returns the body itself, or a stream that fails if it exceeds the bound. Fails with `too_large` if the body says that it does. */
export function boundedBody(config: Config, body: RequestBody): RequestBody {
  if (body === null) return body;
  const length = lengthOf(body);
  if (length !== undefined && length <= ALWAYS_BYTES) return body;
  const bytes = integerSetting(config, 'httpd', 'max_http_request_size') ?? Number.POSITIVE_INFINITY;
  if (length !== undefined && length > bytes) throw tooLarge(bytes);
  return isStream(body) && length === undefined ? new BoundedUpload(body, bytes) : body;
}

function lengthOf(body: Exclude<RequestBody, null>): number | undefined {
  return body instanceof Blob ? body.size : body.length;
}

function tooLarge(bytes: number): DatabaseError {
  const reason = `the request entity is too large: a body may have ${bytes} bytes (httpd/max_http_request_size); nothing was changed.`;
  return new DatabaseError('too_large', reason);
}

class BoundedUpload implements ByteStream {
  readonly isMovable: boolean;
  readonly #stream: ByteStream;
  readonly #bytes: number;
  #received = 0;

  constructor(stream: ByteStream, bytes: number) {
    this.#stream = stream;
    this.#bytes = bytes;
    this.isMovable = stream.isMovable === true;
  }

  get trailers(): PlainHeaders | undefined {
    return this.#stream.trailers;
  }

  async pull(): Promise<Uint8Array | undefined> {
    const chunk = await this.#stream.pull();
    this.#received += chunk?.length ?? 0;
    if (this.#received > this.#bytes) throw tooLarge(this.#bytes);
    return chunk;
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#stream.cancel(reason);
  }
}
