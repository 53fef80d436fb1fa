import { useState } from 'preact/hooks';
import { Icon } from '../components/icon.tsx';
import { WriteButton } from '../components/write-button.tsx';

interface NameListProps {
  /** What the list holds, such as `Users who are members`. */
  readonly label: string;
  /** What one entry is: `user` or `role`. */
  readonly kind: string;
  readonly names: readonly string[];
  readonly onNames: (names: readonly string[]) => void;
}

/** Names that can be removed, and a field that adds one. */
export function NameList({ label, kind, names, onNames }: NameListProps) {
  const [text, setText] = useState('');
  const name = text.trim();
  const add = (event: Event) => {
    event.preventDefault();
    if (name !== '' && !names.includes(name)) onNames([...names, name]);
    setText('');
  };
  return (
    <section class="name-list" aria-label={label}>
      <h3>{label}</h3>
      {names.length === 0 ? (
        <p class="muted">none</p>
      ) : (
        <ul>
          {names.map((one) => (
            <li key={one}>
              {one}
              <WriteButton
                class="quiet"
                label={`Remove the ${kind} ${one}`}
                onClick={() => onNames(names.filter((other) => other !== one))}
              >
                <Icon name="close" />
              </WriteButton>
            </li>
          ))}
        </ul>
      )}
      <form class="name-add" onSubmit={add}>
        <input
          aria-label={`Add to: ${label}`}
          placeholder={`Name of a ${kind}`}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <WriteButton
          type="submit"
          label={`Add the ${kind} to: ${label}`}
          why={name === '' ? 'Type a name.' : undefined}
        >
          Add
        </WriteButton>
      </form>
    </section>
  );
}
