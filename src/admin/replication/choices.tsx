import type { ComponentChildren } from 'preact';

interface ChoiceProps {
  readonly group: string;
  readonly isChosen: boolean;
  readonly choose: () => void;
  readonly children: ComponentChildren;
}

/** One of several. */
export function Choice({ group, isChosen, choose, children }: ChoiceProps) {
  return (
    <label class="choice">
      <input type="radio" name={group} checked={isChosen} onChange={choose} />
      <span>{children}</span>
    </label>
  );
}

interface CheckProps {
  readonly isOn: boolean;
  readonly set: (on: boolean) => void;
  readonly children: ComponentChildren;
}

/** On or off. */
export function Check({ isOn, set, children }: CheckProps) {
  return (
    <label class="choice">
      <input type="checkbox" checked={isOn} onChange={(event) => set(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}
