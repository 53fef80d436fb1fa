import type { DatabaseOrigin } from '../../database/store/contract.ts';
import type { DesignDocument } from './contract.ts';
import { type GroupDefinition, parseDefinition } from './trees/definition.ts';

/** The number of parsed design documents that are kept. */
const MAX_DEFINITIONS = 200;

/** The definitions of indexes, by database file, design document and revision, so that a design document is parsed once. */
export class DefinitionCache {
  readonly #definitions = new Map<string, GroupDefinition>();

  /** Returns undefined if it is not kept. */
  known(origin: Pick<DatabaseOrigin, 'file'>, designDocument: DesignDocument): GroupDefinition | undefined {
    return this.#definitions.get(definitionKey(origin, designDocument));
  }

  /** Fails as `parseDefinition` does. */
  async of(origin: Pick<DatabaseOrigin, 'file'>, designDocument: DesignDocument): Promise<GroupDefinition> {
    const key = definitionKey(origin, designDocument);
    const known = this.#definitions.get(key);
    if (known !== undefined) return known;
    const definition = await parseDefinition(designDocument.body);
    this.#definitions.set(key, definition);
    for (const oldest of this.#definitions.keys()) {
      if (this.#definitions.size <= MAX_DEFINITIONS) break;
      this.#definitions.delete(oldest);
    }
    return definition;
  }
}

function definitionKey({ file }: Pick<DatabaseOrigin, 'file'>, { id, rev }: DesignDocument): string {
  return `${file} ${rev} ${id}`;
}
