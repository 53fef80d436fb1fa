/**
 * Leaves out what the map functions of a mapper can't see of a document. Parsing is most of what a map costs inside
 * QuickJS, some ten times what it costs here to pass over a member.
 */
import { JsonCursor } from '../../json/json-cursor.ts';
import { KeptMembers } from '../../json/kept-members.ts';
import type { Steps } from '../../shared/turn.ts';
import { membersUsed } from './source-scan.ts';

/** What to keep for all of these functions together; undefined: everything. `_id` is always kept, for the log. */
export function membersToKeep(sources: readonly string[]): ReadonlySet<string> | undefined {
  const kept = new Set(['_id']);
  for (const source of sources) {
    const members = membersUsed(source);
    if (members === undefined) return undefined;
    for (const member of members) kept.add(member);
  }
  return kept;
}

/** The text of the same object with these members only, in their order. */
export function project(text: string, members: ReadonlySet<string>): string {
  const projection = new Projection(text, members);
  while (projection.cursor.nextMember()) projection.note();
  return projection.text;
}

/** As `project`, of a text however long. */
export function* projectInSteps(text: string, members: ReadonlySet<string>): Steps<string> {
  const projection = new Projection(text, members);
  while (projection.cursor.nextName()) {
    yield* projection.cursor.skipValueInSteps();
    projection.note();
  }
  return projection.text;
}

class Projection {
  /** Passes one member after the other. */
  readonly cursor: JsonCursor;
  readonly #members: ReadonlySet<string>;
  readonly #kept: KeptMembers;

  constructor(text: string, members: ReadonlySet<string>) {
    this.cursor = new JsonCursor(text);
    this.cursor.enter();
    this.#members = members;
    this.#kept = new KeptMembers(text);
    this.#kept.begin(this.cursor.position - 1);
  }

  /** To be called for each member that was passed. */
  note(): void {
    const { name, keyStart, valueEnd } = this.cursor;
    if (this.#members.has(name)) this.#kept.keep(keyStart, valueEnd);
    else this.#kept.leaveOut();
  }

  get text(): string {
    return this.#kept.objectText(this.cursor.position);
  }
}
