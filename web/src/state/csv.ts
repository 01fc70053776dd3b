// Tables as text with commas.

export interface Column {
  title: string;
  points: readonly (readonly [at: number, value: number])[];
}

/** Return curves with a common axis as a table: a row for each position, empty where a curve has no value. */
export function csvText(axis: string, columns: readonly Column[], axisText: (at: number) => string = String): string {
  const positions = [...new Set(columns.flatMap((each) => each.points.map((point) => point[0])))].sort((a, b) => a - b);
  const values = columns.map((each) => new Map(each.points));
  const rows = positions.map((at) => [axisText(at), ...values.map((each) => valueText(each.get(at)))]);
  return rowsText([[axis, ...columns.map((each) => each.title)], ...rows]);
}

/** Return rows of cells as text. */
export function rowsText(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export const valueText = (value: number | undefined): string => (value === undefined || !Number.isFinite(value) ? "" : String(Number(value.toPrecision(7))));

const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
