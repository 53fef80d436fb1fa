/** uPlot, set up for lines over time. */
import uPlot from 'uplot';
import { formatClock } from '../components/format.ts';
import 'uplot/dist/uPlot.min.css';

interface PlotOptions {
  readonly height: number;
  readonly labels: readonly string[];
  readonly colours: readonly string[];
  readonly ink: string;
  readonly line: string;
}

/** Between two labels of the time. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

export function createPlot(element: HTMLElement, { height, labels, colours, ink, line }: PlotOptions): uPlot {
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, size: 4 },
    size: 58,
  };
  return new uPlot(
    {
      width: Math.max(100, element.clientWidth),
      height,
      legend: { show: labels.length > 1 },
      // The legend has the latest values as long as the user points at no others.
      hooks: {
        setData: [showLatest],
        setCursor: [(plot) => plot.cursor.idx ?? showLatest(plot)],
      },
      cursor: { drag: { x: false, y: false } },
      axes: [{ ...axis, size: 30, space: 80, incrs: SECONDS, values: clocks }, axis],
      scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
      series: [
        {},
        ...labels.map((label, index) => ({
          label,
          stroke: colours[index % colours.length] ?? ink,
          width: 1.5,
          points: { show: false },
        })),
      ],
    },
    [[]],
    element,
  );
}

/** The times of an axis, as everywhere in the page. */
function clocks(_plot: uPlot, times: number[]): string[] {
  return times.map((time) => formatClock(time * 1000));
}

function showLatest(plot: uPlot): void {
  const last = plot.data[0].length - 1;
  if (last >= 0) plot.setLegend({ idx: last }, false);
}
