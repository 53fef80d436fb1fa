import { isObject, ownMember } from '../../json/objects.ts';
import { parseInTurns } from '../../json/parse-in-steps.ts';
import { inTurns, type Steps } from '../../shared/turn.ts';
import { type ResumableSource, toResumableSource } from './resumable-source.ts';

const LOOKED_PER_STEP = 1_024;

/** Finds out which list functions of a design document can be made resumable, for each when it is first asked for. */
export class ResumableLists {
  readonly #designDocument: string;
  readonly #sources = new Map<string, ResumableSource | undefined>();

  /** Takes its JSON text. */
  constructor(designDocument: string) {
    this.#designDocument = designDocument;
  }

  /** Undefined where the function can't be made resumable, and where there is none of that name. */
  async sourceOf(name: string): Promise<ResumableSource | undefined> {
    if (this.#sources.has(name)) return this.#sources.get(name);
    const source = await this.#find(name);
    this.#sources.set(name, source);
    return source;
  }

  async #find(name: string): Promise<ResumableSource | undefined> {
    const design = await parseInTurns(this.#designDocument);
    const lists: unknown = isObject(design) ? ownMember(design, 'lists') : undefined;
    const source: unknown = isObject(lists) ? ownMember(lists, name) : undefined;
    if (typeof source !== 'string') return undefined;
    // Where a module calls getRow(), the list function could not yield in its stead.
    return (await inTurns(mentionsRow(design, lists))) ? undefined : toResumableSource(source);
  }
}

/** Whether a text of the value has the name in it, but for those in `except`. */
function* mentionsRow(value: unknown, except: unknown): Steps<boolean> {
  const left: unknown[] = [value];
  let looked = 0;
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    looked++;
    if (looked % LOOKED_PER_STEP === 0) yield;
    if (typeof one === 'string' && one.includes('getRow')) return true;
    if (typeof one !== 'object' || one === null || one === except) continue;
    if (Array.isArray(one)) for (const item of one) left.push(item);
    else {
      for (const [name, member] of Object.entries(one)) {
        if (name.includes('getRow')) return true;
        left.push(member);
      }
    }
  }
  return false;
}
