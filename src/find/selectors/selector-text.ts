/** Writes selectors as they were understood, for `_explain`. */
import type { Selector } from './selector.ts';
import type { Condition } from './selector-condition.ts';

type Json = Readonly<Record<string, unknown>>;

export function selectorJson(selector: Selector): Json {
  if (selector.kind !== 'field') {
    if (selector.parts.length === 0) return {};
    return { [`$${selector.kind}`]: selector.parts.map(selectorJson) };
  }
  // Without a path where it asks something of an element itself.
  const condition = conditionJson(selector.condition);
  return selector.path.text === '' ? condition : { [selector.path.text]: condition };
}

function conditionJson({ operator, argument, isNegated, nested }: Condition): Json {
  const condition = { [operator]: nested === undefined ? argument : selectorJson(nested) };
  return isNegated ? { $not: condition } : condition;
}
