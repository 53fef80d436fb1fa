/** What the parts of a form share. */
import type { Path } from '../../json/edit-tree.ts';
import type { JsonEntry, JsonTree } from '../../json/json-tree.ts';
import type { Attachment } from '../../server/document.ts';
import type { FieldProblem } from './field-problems.ts';

/** What can be done with a field. `path` leads to it. */
export interface FormActions {
  readonly set: (path: Path, value: JsonTree) => void;
  readonly convert: (path: Path, value: JsonTree) => void;
  readonly rename: (path: Path, name: string) => void;
  /** `next`: the field that is focused then. */
  readonly remove: (path: Path, next: number | undefined) => void;
  readonly move: (path: Path, by: 1 | -1) => void;
  /** `path` leads to the object or list. */
  readonly add: (path: Path, entry: JsonEntry) => void;
}

/** What all fields of a form share. */
export interface FormContext {
  readonly database: string;
  readonly id: string;
  readonly attachments: readonly Attachment[];
  readonly knownIds: ReadonlyMap<string, string>;
  readonly problems: ReadonlyMap<number, FieldProblem>;
  readonly actions: FormActions;
  readonly onShowSource: () => void;
  /** Nothing can be written now: its fields are to be read only. */
  readonly isReadOnly: boolean;
}

/** Where an entry stands among its neighbours. */
export interface Place {
  readonly at: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** The neighbour's key. */
  readonly next: number | undefined;
}
