"""What results owe to those who made the input: the attributes that licences ask for, of the CF conventions."""

from typing import Final

from airshed.core.errors import DataError
from airshed.core.files import note_input
from airshed.models.air.case import Case

ATTRIBUTION_FILE: Final = "attribution.txt"
"""File in an inventory's folder with what results made from it must say of their sources."""

_ERA5_NOTICE: Final = (
    "Contains modified Copernicus Climate Change Service information {year}; neither the European Commission nor ECMWF "
    "is responsible for any use that may be made of it."
)
_ERA5_PAPER: Final = "Meteorology: Hersbach and others 2020, The ERA5 global reanalysis, doi:10.1002/qj.3803"
_CMAQ_PROFILES: Final = "Lateral boundary: profiles of CMAQ (U.S. EPA), remote North Pacific, mean of 2016{changed}."
_PROFILES: Final = {
    "clean-air": _CMAQ_PROFILES.format(changed=""),
    "europe-summer": _CMAQ_PROFILES.format(changed=", changed to rural air of Europe"),
    "europe-winter": _CMAQ_PROFILES.format(changed=", changed to rural air of Europe"),
}


def data_attributes(case: Case, *, era5: bool) -> dict[str, str]:
    """Return the global attributes `comment` (notices that licences ask for) and `references`, as far as there are any.

    era5  whether the meteorology is read from files of ERA5
    Raises DataError when the attribution of the inventory cannot be read.
    """
    notices, references = [], []
    if era5:
        notices.append(_ERA5_NOTICE.format(year=case.time.start.year))
        references.append(_ERA5_PAPER)
    if case.emissions.inventory is not None:
        notices.append(_of_inventory(case))
    notices.append(_PROFILES.get(case.boundary.profiles, ""))
    attributes = {"comment": " ".join(filter(None, notices)), "references": "; ".join(references)}
    return {name: text for name, text in attributes.items() if text}


def _of_inventory(case: Case) -> str:
    path = case.path(case.emissions.inventory or "") / ATTRIBUTION_FILE
    try:
        return " ".join(note_input(path).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); write one paragraph of plain text, or remove it") from error
