import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { theme } from '../page/theme.ts';

export interface Series {
  readonly label: string;
  /** One for each time; null: not known. */
  readonly values: readonly (number | null)[];
}

interface GraphProps {
  readonly label: string;
  /** Seconds since the epoch. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** Shown in place of lines as long as there is no figure. */
  readonly nothing?: string;
  /** Pixels. */
  readonly height?: number;
}

const COLOURS = ['--accent', '--warn', '--bad', '--good'];

/** Lines over time. It is loaded when the first one is seen. */
export function Graph({ label, times, series, nothing, height = 140 }: GraphProps) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = useRef<uPlot.AlignedData>([[]]);
  data.current = [[...times], ...series.map(({ values }) => [...values])];
  const names = series.map((one) => one.label).join('\n');
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    let isWanted = true;
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: current.clientWidth, height }));
    void import('./plot.ts').then(({ createPlot }) => {
      if (!isWanted) return;
      plot.current = createPlot(current, {
        height,
        labels: names.split('\n'),
        colours: COLOURS.map((name) => getComputedStyle(current).getPropertyValue(name)),
        ink: getComputedStyle(current).getPropertyValue('--muted'),
        line: getComputedStyle(current).getPropertyValue('--line'),
      });
      plot.current.setData(data.current);
      observer.observe(current);
    });
    return () => {
      isWanted = false;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [names, height, theme.value]);
  useEffect(() => plot.current?.setData(data.current), [times, series]);
  const isEmpty = series.every(({ values }) => values.every((value) => value === null));
  const last = series.map((one) => `${one.label} ${one.values.at(-1) ?? 'unknown'}`).join(', ');
  return (
    <figure class="graph">
      <figcaption>{label}</figcaption>
      {isEmpty && nothing !== undefined && <p class="muted">{nothing}</p>}
      <div ref={element} role="img" aria-label={`${label}: ${last}`} style={{ minHeight: `${height}px` }} />
    </figure>
  );
}
