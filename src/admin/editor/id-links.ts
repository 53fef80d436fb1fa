/** Links beside those strings of a JSON text that are ids of documents. */
import { syntaxTree } from '@codemirror/language';
import { type Range, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
  WidgetType,
} from '@codemirror/view';

/** Addresses by id. */
export const setLinkedIds = StateEffect.define<ReadonlyMap<string, string>>();

const linkedIds = StateField.define<ReadonlyMap<string, string>>({
  create: () => new Map(),
  update: (ids, { effects }) => effects.findLast((effect) => effect.is(setLinkedIds))?.value ?? ids,
});

class Link extends WidgetType {
  readonly #id: string;
  readonly #href: string;

  constructor(id: string, href: string) {
    super();
    this.#id = id;
    this.#href = href;
  }

  override eq(other: Link): boolean {
    return other.#href === this.#href;
  }

  override toDOM(): HTMLElement {
    const link = document.createElement('a');
    link.href = this.#href;
    link.className = 'cm-id-link';
    link.textContent = '↗';
    link.title = `Open ${this.#id}`;
    link.setAttribute('aria-label', `Open ${this.#id}`);
    return link;
  }

  /** The click is the browser's. */
  override ignoreEvent(): boolean {
    return true;
  }
}

const plugin = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = linksIn(view);
    }

    update(update: ViewUpdate): void {
      const hasIds = update.startState.field(linkedIds) !== update.state.field(linkedIds);
      const hasTree = syntaxTree(update.startState) !== syntaxTree(update.state);
      if (hasIds || hasTree || update.docChanged || update.viewportChanged) this.decorations = linksIn(update.view);
    }
  },
  { decorations: (value) => value.decorations },
);

function linksIn(view: EditorView): DecorationSet {
  const ids = view.state.field(linkedIds);
  const found: Range<Decoration>[] = [];
  if (ids.size === 0) return Decoration.none;
  for (const { from, to } of view.visibleRanges) {
    syntaxTree(view.state).iterate({
      from,
      to,
      enter: (node) => {
        if (node.name !== 'String' || node.to - node.from > MAX_LENGTH) return;
        const id = idOf(view.state.sliceDoc(node.from, node.to));
        const href = id === undefined ? undefined : ids.get(id);
        if (id === undefined || href === undefined) return;
        found.push(Decoration.widget({ widget: new Link(id, href), side: 1 }).range(node.to));
      },
    });
  }
  return Decoration.set(found, true);
}

/** Characters of a string that is looked up as an id. */
const MAX_LENGTH = 200;

function idOf(source: string): string | undefined {
  try {
    return `${JSON.parse(source)}`;
  } catch {
    return undefined;
  }
}

/** `setLinkedIds` says which ids there are. */
export const idLinks = [linkedIds, plugin];
