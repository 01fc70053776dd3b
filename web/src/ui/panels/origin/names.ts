// Names of countries and pollutants in words.
import { fieldText } from "../../../state/fields";
import { variables } from "../../../state/store";

const POLLUTANTS: Record<string, string> = {
  NOx: "nitrogen oxides NOₓ", NMVOC: "organic gases", SOx: "sulphur oxides SOₓ", CO: "carbon monoxide CO", NH3: "ammonia NH₃",
  "PM2.5": "fine particles PM₂.₅", PM10: "particles PM₁₀", PM2_5: "fine particles PM₂.₅", CH4: "methane CH₄",
};
const countries = typeof Intl === "undefined" ? null : new Intl.DisplayNames("en", { type: "region", fallback: "code" });

export function nameOfCountry(code: string): string {
  try {
    return countries?.of(code) ?? code;
  } catch {
    return code; // no code of a country
  }
}

/** Return the name of a reported pollutant or of a species. */
export function nameOfPollutant(name: string): string {
  const known = variables.value.find((each) => each.name === name);
  return POLLUTANTS[name] ?? (known ? fieldText(known) : name);
}
