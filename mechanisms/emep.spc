// Species of the EMEP MSC-W photo-oxidant chemistry of 1993, in the order of the EMEP problem of the Test Set for IVP
// Solvers. Where the scheme lets one compound stand for a class, the composition is that of the compound.
// Nitrate and sulphate are counted as the ions, so that their masses are those that networks report.

#ATOMS
H; C; N; O; S;

#DEFVAR
NO      = N + O;                  {nitric oxide}
NO2     = N + 2O;                 {nitrogen dioxide}
SO2     = S + 2O;                 {sulphur dioxide}
CO      = C + O;                  {carbon monoxide}
CH4     = C + 4H;                 {methane}
C2H6    = 2C + 6H;                {ethane; stands for unreactive hydrocarbons}
NC4H10  = 4C + 10H;               {n-butane; stands for the higher alkanes}
C2H4    = 2C + 4H;                {ethene}
C3H6    = 3C + 6H;                {propene; stands for the higher alkenes}
OXYL    = 8C + 10H;               {o-xylene; stands for the aromatics}
HCHO    = C + 2H + O;             {formaldehyde}
CH3CHO  = 2C + 4H + O;            {acetaldehyde; stands for the higher aldehydes}
MEK     = 4C + 8H + O;            {methyl ethyl ketone; stands for the higher ketones, hydroxyacetone included}
O3      = 3O;                     {ozone}
HO2     = H + 2O;                 {hydroperoxyl radical}
HNO3    = H + N + 3O;             {nitric acid}
H2O2    = 2H + 2O;                {hydrogen peroxide}
H2      = 2H;                     {hydrogen}
CH3O2   = C + 3H + 2O;            {methylperoxy radical}
C2H5OH  = 2C + 6H + O;            {ethanol; stands for the alcohols}
SA      = S + 4O;                 {sulphate, with its sulphuric acid}
CH3O2H  = C + 4H + 2O;            {methyl hydroperoxide}
C2H5O2  = 2C + 5H + 2O;           {ethylperoxy radical}
CH3COO  = 2C + 3H + 3O;           {peroxyacetyl radical CH3C(O)O2}
PAN     = 2C + 3H + N + 5O;       {peroxyacetyl nitrate}
SECC4H  = 4C + 9H + 2O;           {sec-butylperoxy radical}
MEKO2   = 4C + 7H + 3O;           {peroxy radical of methyl ethyl ketone}
R2OOH   = 2C + 6H + 2O;           {ethyl hydroperoxide}
ETRO2   = 2C + 5H + 3O;           {peroxy radical of ethene and OH, HOCH2CH2O2}
MGLYOX  = 3C + 4H + 2O;           {methylglyoxal}
PRRO2   = 3C + 7H + 3O;           {peroxy radical of propene and OH}
GLYOX   = 2C + 2H + 2O;           {glyoxal}
OXYO2   = 8C + 11H + 3O;          {peroxy radical of o-xylene and OH}
MAL     = 5C + 6H + 2O;           {unsaturated dicarbonyl CH3COCH=CHCHO}
MALO2   = 5C + 7H + 5O;           {peroxy radical of MAL and OH}
OP      = O;                      {oxygen atom O(3P)}
OH      = H + O;                  {hydroxyl radical}
OD      = O;                      {excited oxygen atom O(1D)}
NO3     = N + 3O;                 {nitrate radical}
N2O5    = 2N + 5O;                {dinitrogen pentoxide}
ISOPRE  = 5C + 8H;                {isoprene}
NITRAT  = N + 3O;                 {particulate nitrate}
ISRO2   = 5C + 9H + 3O;           {peroxy radicals of isoprene and OH}
MVK     = 4C + 6H + O;            {methyl vinyl ketone}
MVKO2   = 4C + 7H + 4O;           {peroxy radical of methyl vinyl ketone and OH}
CH3OH   = C + 4H + O;             {methanol}
RCO3H   = 2C + 4H + 3O;           {peracetic acid}
OXYO2H  = 8C + 12H + 3O;          {hydroperoxide of OXYO2}
BURO2H  = 4C + 10H + 2O;          {sec-butyl hydroperoxide}
ETRO2H  = 2C + 6H + 3O;           {hydroperoxide of ETRO2}
PRRO2H  = 3C + 8H + 3O;           {hydroperoxide of PRRO2}
MEKO2H  = 4C + 8H + 3O;           {hydroperoxide of MEKO2}
MALO2H  = 5C + 8H + 5O;           {hydroperoxide of MALO2}
MACR    = 4C + 6H + O;            {methacrolein}
ISNI    = 5C + 9H + N + 4O;       {organic nitrates from isoprene}
ISRO2H  = 5C + 10H + 3O;          {hydroperoxide of ISRO2}
MARO2   = 4C + 5H + 3O;           {peroxyacyl radical of methacrolein CH2=C(CH3)C(O)O2}
MAPAN   = 4C + 5H + N + 5O;       {peroxymethacryloyl nitrate}
CH2CCH3 = 3C + 5H + 2O;           {peroxy radical CH2=C(CH3)O2, what MARO2 leaves without its CO2}
ISONO3  = 5C + 8H + N + 5O;       {peroxy radical of isoprene and NO3}
ISNIR   = 5C + 10H + N + 7O;      {peroxy radical of ISNI and OH}
MVKO2H  = 4C + 8H + 4O;           {hydroperoxide of MVKO2}
CH2CHR  = 3C + 6H + 2O;           {hydroperoxide of CH2CCH3}
ISNO3H  = 5C + 9H + N + 5O;       {hydroperoxide of ISONO3}
ISNIRH  = 5C + 11H + N + 7O;      {hydroperoxide of ISNIR}
MARO2H  = 4C + 6H + 3O;           {peracid of MARO2}

// Air of a polluted summer day [molecules cm-3]; radicals follow from it. What is solved before what in a sweep goes by
// the lifetimes in this air, so that the order of magnitude is what counts.
#INITVALUES
ALL_SPEC = 0;
NO = 1e9;  NO2 = 5e9;  SO2 = 5e9;  CO = 3.8e12;  CH4 = 3.5e13;  O3 = 1e12;
C2H6 = 1e10;  NC4H10 = 1e10;  C2H4 = 1e10;  C3H6 = 1e10;  OXYL = 1e10;  ISOPRE = 1e10;
HCHO = 1e10;  CH3CHO = 1e10;  MEK = 1e10;
