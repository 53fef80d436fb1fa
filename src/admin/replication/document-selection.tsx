/** Which documents a replication copies. */
import { useId } from 'preact/hooks';
import { useLoaded } from '../components/load.ts';
import { Choice } from './choices.tsx';
import { filterFunctions } from './filter-functions.ts';
import { type FormValues, whyBadParameters, whyNoFilter, whyNoSelector } from './form-values.ts';

export interface PartProps {
  readonly values: FormValues;
  readonly change: (part: Partial<FormValues>) => void;
}

const SELECTIONS = [
  { which: 'all', label: 'All' },
  { which: 'selector', label: 'Those that match a selector' },
  { which: 'ids', label: 'Those with these ids' },
  { which: 'filter', label: 'Those that a filter function passes' },
] as const;

export function DocumentSelection({ values, change }: PartProps) {
  const { which } = values;
  return (
    <fieldset>
      <legend>Documents</legend>
      <div class="choice-row">
        {SELECTIONS.map((one) => (
          <Choice
            key={one.which}
            group="documents"
            isChosen={which === one.which}
            choose={() => change({ which: one.which })}
          >
            {one.label}
          </Choice>
        ))}
      </div>
      {which === 'selector' && <SelectorField values={values} change={change} />}
      {which === 'ids' && (
        <label class="field">
          <span>Ids, one on each line</span>
          <textarea
            rows={5}
            spellcheck={false}
            value={values.ids}
            onInput={(event) => change({ ids: event.currentTarget.value })}
          />
        </label>
      )}
      {which === 'filter' && <FilterFields values={values} change={change} />}
    </fieldset>
  );
}

function SelectorField({ values: { selector }, change }: PartProps) {
  const why = whyNoSelector(selector);
  return (
    <>
      <label class="field">
        <span>Selector</span>
        <textarea
          rows={5}
          spellcheck={false}
          value={selector}
          onInput={(event) => change({ selector: event.currentTarget.value })}
        />
      </label>
      {why !== undefined && <p class="field-error">{why}</p>}
    </>
  );
}

/** The functions of a source on this server are offered. */
function FilterFields({ values: { source, filter, filterParameters }, change }: PartProps) {
  const listId = useId();
  const database = source.kind === 'local' ? source.database : '';
  const { value: known = [] } = useLoaded((signal) => filterFunctions(database, signal), [database]);
  const why = (filter === '' ? undefined : whyNoFilter(filter)) ?? whyBadParameters(filterParameters);
  return (
    <>
      <div class="two-fields">
        <label class="field">
          <span>Filter function</span>
          <input
            value={filter}
            list={listId}
            placeholder="design/name"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            onInput={(event) => change({ filter: event.currentTarget.value.trim() })}
          />
        </label>
        <label class="field">
          <span>Its parameters, one on each line</span>
          <textarea
            rows={3}
            placeholder="name=value"
            autocapitalize="none"
            spellcheck={false}
            value={filterParameters}
            onInput={(event) => change({ filterParameters: event.currentTarget.value })}
          />
        </label>
      </div>
      <datalist id={listId}>
        {known.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p class="muted">
        The function is in <code>filters</code> of a design document of the source, and gets the parameters as{' '}
        <code>req.query</code>. {known.length > 0 && `The source has ${new Intl.ListFormat('en').format(known)}.`}
      </p>
      {why !== undefined && <p class="field-error">{why}</p>}
    </>
  );
}
