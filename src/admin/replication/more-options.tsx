import { useState } from 'preact/hooks';
import { Check } from './choices.tsx';
import type { PartProps } from './document-selection.tsx';

/** What is seldom needed. It is open at first if something of it was chosen. */
export function MoreOptions({ values, change }: PartProps) {
  const { since, usesCheckpoints, checkpointSeconds, proxy } = values;
  const [isOpen] = useState(since !== '' || !usesCheckpoints || checkpointSeconds !== '' || proxy !== '');
  return (
    <details class="more-options" open={isOpen}>
      <summary>Checkpoints and proxy</summary>
      <div class="two-fields">
        <TextField
          label="Start after this sequence of the source"
          value={since}
          placeholder="where the last run ended"
          onInput={(text) => change({ since: text })}
        />
        <TextField
          label="Seconds between two checkpoints"
          value={checkpointSeconds}
          placeholder="5"
          onInput={(text) => change({ checkpointSeconds: text })}
        />
      </div>
      <Check isOn={!usesCheckpoints} set={(on) => change({ usesCheckpoints: !on })}>
        Store no checkpoints: for a source or a target that refuses local documents. Each start compares all changes
        again
      </Check>
      <TextField
        label="Proxy for connections to other servers"
        value={proxy}
        placeholder="http://proxy.example.org:3128"
        onInput={(text) => change({ proxy: text })}
      />
    </details>
  );
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly onInput: (text: string) => void;
}

function TextField({ label, value, placeholder, onInput }: TextFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value.trim())}
      />
    </label>
  );
}
