/** A schema of the app, for TanStack DB to check what the app inserts and changes (docs/tanstack.md#a-schema). */
import type { Row } from './contract.ts';
import { toDraft } from './merge.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Result<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

/** Standard Schema, version 1, which Zod, Valibot, ArkType and others implement. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>;
  };
}

/** `Input`: what an app inserts. `Output`: the documents. */
export type RowSchema<Input extends object, Output extends object> = StandardSchema<Row<Input>, Row<Output>>;

/** Members that begin with an underscore belong to the database, also if the schema drops what it does not name. */
export function schemaOfRows<Input extends object, Output extends object>(
  schema: StandardSchema<Input, Output>,
): RowSchema<Input, Output> {
  const own = schema['~standard'];
  const withMembers = (row: object, result: Result<Output>): Result<Row<Output>> =>
    result.issues ? result : { value: { ...result.value, ...membersOf(row) } as Row<Output> };
  return {
    '~standard': {
      version: 1,
      vendor: own.vendor,
      validate: (value) => {
        const row = Object(value);
        const result = own.validate(toDraft(row));
        // TanStack DB says that a schema must not take its time.
        return result instanceof Promise ? result.then((later) => withMembers(row, later)) : withMembers(row, result);
      },
    },
  };
}

function membersOf(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name.startsWith('_')));
}
