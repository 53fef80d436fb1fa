import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import { type ResumableSource, toResumableSource } from './resumable-source.ts';

const ROW = 'getRow';

/** Finds out which list functions of a design document can be made resumable, each on first use. */
export class ResumableLists {
  readonly #designDocument: string;
  readonly #sources = new Map<string, ResumableSource | undefined>();

  /** Takes the design document's JSON text. */
  constructor(designDocument: string) {
    this.#designDocument = designDocument;
  }

  /** Returns undefined if the function can't be made resumable, or if there is none of that name. */
  async sourceOf(name: string): Promise<ResumableSource | undefined> {
    if (this.#sources.has(name)) return this.#sources.get(name);
    const source = await this.#find(name);
    this.#sources.set(name, source);
    return source;
  }

  async #find(name: string): Promise<ResumableSource | undefined> {
    const cursor = new JsonCursor(this.#designDocument);
    cursor.enter();
    let lists = '{}';
    const timeSlice = new TimeSlice();
    while (cursor.nextMember()) {
      // If a module calls getRow(), the list function can't yield in its place.
      if (cursor.name === 'lists') lists = cursor.valueText;
      else if (cursor.name.includes(ROW) || (await mentionsRow(cursor.valueText))) return undefined;
      if (timeSlice.isDue) await timeSlice.rest();
    }
    const all = await parseInTurns(lists);
    const source = isObject(all) ? ownMember(all, name) : undefined;
    return typeof source === 'string' ? toResumableSource(source) : undefined;
  }
}

/** Returns whether a text of the value, which is itself JSON text, contains the name, however it is written. */
async function mentionsRow(text: string): Promise<boolean> {
  if (text.includes(ROW)) return true;
  return text.includes('\\u') && JSON.stringify(await parseInTurns(text)).includes(ROW);
}
