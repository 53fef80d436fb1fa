/** A value for each field in which versions differ. */
import { useState } from 'preact/hooks';
import { GrowingText } from '../form/growing-text.tsx';
import {
  alternativesOf,
  type Choice,
  type Choices,
  chosenText,
  lostValues,
  ownProblem,
  type Version,
} from './merge.ts';

interface FieldChoicesProps {
  readonly versions: readonly Version[];
  /** Names of fields. */
  readonly different: readonly string[];
  /** Those that need a look first. */
  readonly contested?: readonly string[];
  readonly choices: Choices;
  readonly onChoose: (names: readonly string[], choice: Choice) => void;
}

export function FieldChoices({ versions, different, contested = [], choices, onChoose }: FieldChoicesProps) {
  return (
    <div class="conflict-fields">
      <label class="inline-field">
        <span>Take everything from</span>{' '}
        <select
          value=""
          onChange={({ currentTarget }) => {
            onChoose(different, { from: currentTarget.value });
            currentTarget.value = '';
          }}
        >
          <option value="" disabled>
            Choose …
          </option>
          {versions.map(({ key, label }) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {different.map((name) => (
        <FieldChoice
          key={name}
          name={name}
          versions={versions}
          isContested={contested.includes(name)}
          choices={choices}
          onChoose={(choice) => onChoose([name], choice)}
        />
      ))}
      <Losses versions={versions} choices={choices} />
    </div>
  );
}

/** Values of a field that are shown at first. */
const FEW = 8;

interface FieldChoiceProps {
  readonly name: string;
  readonly versions: readonly Version[];
  readonly isContested: boolean;
  readonly choices: Choices;
  readonly onChoose: (choice: Choice) => void;
}

function FieldChoice({ name, versions, isContested, choices, onChoose }: FieldChoiceProps) {
  const choice = choices.get(name);
  const isOwn = choice !== undefined && 'own' in choice;
  const chosen = chosenText(versions, choices, name);
  const problem = ownProblem(choice);
  const [most, setMost] = useState(FEW);
  const alternatives = alternativesOf(versions, name);
  // The one that is chosen is always in sight.
  const shown = alternatives.filter(({ text }, at) => at < most || (!isOwn && text === chosen));
  return (
    <fieldset class="conflict-field">
      <legend>
        {name}
        {isContested && (
          <>
            {' '}
            <span class="tag warn">changed in both</span>
          </>
        )}
      </legend>
      <div class="conflict-row">
        {shown.map(({ text, versions: own }) => (
          <label key={text ?? ''}>
            <input
              type="radio"
              name={`conflict ${name}`}
              checked={!isOwn && text === chosen}
              onChange={() => onChoose({ from: own[0]?.key ?? '' })}
            />
            <span>
              <Value text={text} />
              <span class="muted">{labelsOf(own)}</span>
            </span>
          </label>
        ))}
        <label>
          <input
            type="radio"
            name={`conflict ${name}`}
            checked={isOwn}
            onChange={() => onChoose({ own: chosen ?? 'null' })}
          />
          <span class="muted">another value</span>
        </label>
      </div>
      {shown.length < alternatives.length && (
        <button type="button" class="quiet" onClick={() => setMost(alternatives.length)}>
          Show {alternatives.length - shown.length} more values of {name}
        </button>
      )}
      {isOwn && (
        <GrowingText
          label={`Value of ${name}, as JSON`}
          value={choice.own}
          isInvalid={problem !== undefined}
          onInput={(own) => onChoose({ own })}
        />
      )}
      {problem !== undefined && <p class="field-error">{problem}</p>}
    </fieldset>
  );
}

/** Characters: a longer value scrolls. */
const LONG = 400;

function Value({ text = 'not there' }: { readonly text: string | undefined }) {
  if (text.length < LONG) return <code class="conflict-value">{text}</code>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
    <code class="conflict-value long" tabIndex={0}>
      {text}
    </code>
  );
}

/** Versions that are named; the others are counted. */
const NAMED = 3;

function labelsOf(versions: readonly Version[]): string {
  const named = versions.slice(0, NAMED).map(({ label }) => label);
  const others = versions.length - named.length;
  return others > 0 ? `${named.join(', ')} and ${others} more` : named.join(', ');
}

/** What is in none of the fields as they are chosen. */
function Losses({ versions, choices }: Pick<FieldChoicesProps, 'versions' | 'choices'>) {
  const lost = lostValues(versions, choices);
  if (lost.length === 0) return <p class="muted">No value is lost.</p>;
  return (
    <details class="conflict-losses">
      <summary>{lost.length === 1 ? '1 value is lost' : `${lost.length} values are lost`}</summary>
      <ul>
        {lost.map(({ name, text, versions: own }) => (
          <li key={`${name} ${text}`}>
            {name}: <code>{text.length > 200 ? `${text.slice(0, 200)} …` : text}</code>{' '}
            <span class="muted">{labelsOf(own)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
