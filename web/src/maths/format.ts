// Numbers, lengths of time and errors as text.

/** Return the message of an error. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Return a number with `digits` significant digits; with a power of ten where it would have many zeros. */
export function number(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return power(value, digits);
  return Number(value.toPrecision(digits)).toString().replace("-", "−");
}

/** Return a power of ten as such, and other numbers as they are. */
export function decade(value: number): string {
  const exponent = Math.round(Math.log10(value));
  const isPower = Math.abs(value / 10 ** exponent - 1) < 1e-9 && Math.abs(exponent) > 3;
  return isPower ? `10${raised(exponent)}` : number(value);
}

const raised = (exponent: number): string => [...String(exponent)].map((each) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(each)]).join("");

function power(value: number, digits: number): string {
  const [mantissa = "", exponent = "0"] = value.toExponential(digits - 1).split("e");
  return `${Number(mantissa)}·10${raised(Number(exponent))}`.replace("-", "−");
}

/** Masses per volume [µg/m³] below this have no digits in words. */
const TINY = 0.1;

/** Return a value with its unit, as sentences and lists show it: "82.2 µg/m³", "below 0.1 µg/m³". */
export function quantity(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "–";
  const isTiny = unit === "µg/m³" && value > 0 && value < TINY;
  return `${isTiny ? `below ${TINY}` : number(value)} ${unit}`.trim();
}

/** Return a length of time, such as "6 h" or "12 d". */
export function span(seconds: number): string {
  for (const [name, length] of [["d", 86400], ["h", 3600], ["min", 60]] as const) {
    if (Math.abs(seconds) >= length && (name !== "d" || Math.abs(seconds) >= 2 * length)) {
      return `${Number((seconds / length).toPrecision(4))} ${name}`;
    }
  }
  return `${Number(seconds.toPrecision(4))} s`;
}

export function bytes(count: number): string {
  return count >= 1e6 ? `${number(count / 1e6)} MB` : `${number(count / 1e3)} kB`;
}
