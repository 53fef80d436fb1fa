import { messageOf } from '../../../base/errors/database-error.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { PageFile, PageNumber } from '../../../storage/page-store.ts';
import { beginMd5 } from '../../documents/md5.ts';
import { PageAttachment } from '../attachment-pages.ts';
import type { StoredNode } from '../contract.ts';
import { type AttachmentEntry, pagesOfRuns } from '../state/attachments-tree.ts';

interface Use {
  references: number;
  leaves: number;
}

/** Checks the attachments of a database: that their bytes match their digests, and that their reference counts are correct. */
export class AttachmentCheck {
  /** Pages that hold attachments. */
  readonly pages = new Set<PageNumber>();
  readonly #file: PageFile;
  readonly #onFinding: (finding: string) => void;
  /** References by digest that were not compared with an entry yet. */
  readonly #uses = new Map<string, Use>();

  constructor(file: PageFile, onFinding: (finding: string) => void) {
    this.#file = file;
    this.#onFinding = onFinding;
  }

  /** Must be called for each revision. */
  note({ body }: StoredNode, isLeaf: boolean): void {
    for (const digest of body?.attachments ?? []) {
      const use = this.#uses.get(digest) ?? { references: 0, leaves: 0 };
      use.references += 1;
      if (isLeaf) use.leaves += 1;
      this.#uses.set(digest, use);
    }
  }

  /** Compares an entry with what was noted. */
  async check(entry: AttachmentEntry): Promise<void> {
    const { digest, references, leaves, pages } = entry;
    for (const page of pagesOfRuns(pages)) this.pages.add(page);
    const use = this.#uses.get(digest) ?? { references: 0, leaves: 0 };
    this.#uses.delete(digest);
    if (use.references !== references || use.leaves !== leaves) {
      this.#onFinding(
        `attachment ${digest} counts ${references} revisions, ${leaves} of them leaves, but ${use.references} have it, ${use.leaves} of them leaves`,
      );
    }
    await this.#checkBytes(entry);
  }

  /** Must be called when all entries were checked. */
  end(): void {
    for (const digest of this.#uses.keys())
      this.#onFinding(`attachment ${digest} is lost: no record says where its bytes are`);
  }

  async #checkBytes(entry: AttachmentEntry): Promise<void> {
    try {
      const md5 = await beginMd5();
      const reader = new PageAttachment(entry, this.#file, () => undefined);
      const timeSlice = new TimeSlice();
      for await (const bytes of reader.read(0, entry.storedLength)) {
        md5.update(bytes);
        if (timeSlice.isDue) await timeSlice.rest();
      }
      if (md5.digest() !== entry.digest)
        this.#onFinding(`attachment ${entry.digest} is lost: its bytes do not match its digest`);
    } catch (error) {
      this.#onFinding(`attachment ${entry.digest} is lost: ${messageOf(error)}`);
    }
  }
}
