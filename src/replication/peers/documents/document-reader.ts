/** Reads documents from a peer in the best way that it supports. An unsupported way is not tried again. */
import type { PeerClient } from '../client/peer-client.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { type ReadOptions, readByBulkGet } from './bulk-get.ts';
import { readByOpenRevisions } from './open-revisions.ts';

/** Documents that are read at the same time, one by one. */
const SINGLE_READS = 8;

type TakeFound = (found: FoundDocument) => Promise<void>;

export class DocumentReader {
  readonly #client: PeerClient;
  #hasBulkGet = true;

  constructor(client: PeerClient) {
    this.#client = client;
  }

  async read(wanted: readonly WantedDocument[], options: ReadOptions, take: TakeFound): Promise<void> {
    if (!this.#hasBulkGet) return this.#readSingly(wanted, options, take);
    const { isSupported, left } = await readByBulkGet(this.#client, wanted, options, take);
    this.#hasBulkGet &&= isSupported;
    // One by one, so that an unreadable document holds no other back.
    if (left.length > 0) await this.#readSingly(left, options, take);
  }

  async #readSingly(wanted: readonly WantedDocument[], options: ReadOptions, take: TakeFound): Promise<void> {
    const left = [...wanted];
    const readNext = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        await readByOpenRevisions(this.#client, next, options, take);
      }
    };
    await Promise.all(Array.from({ length: SINGLE_READS }, readNext));
  }
}
