"""Special functions in double precision, to take the place of JAX's lowering rules.

What jaxlib writes of them in StableHLO, on its way to any plugin, is computed in f32 for f32: near their zeros, and for
negative numbers, lgamma and digamma then keep no digit. These are right to 2 ulp of f32 everywhere
(tests/numbers/ulp.py), for about the same number of operations, and those that lowerings.py uses for f64 too have fewer
ulp there than jaxlib's. Each function takes and returns f64, but where it says so.

The tuples of coefficients are Chebyshev fits, lowest power first, good to 2^-31 at least on the interval above them;
those of lgamma and digamma to 2^-47, since they cancel near the zeros between negative whole numbers.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

# lgamma(y) / ((y - 1) (y - 2)) by y - 1.5 in [-0.5, 0.5]
_LGAMMA_ONE_TWO = (0.4831289505409809, -0.14595989591430594, 0.06291140107456485, -0.03130848750105327,
    0.01679709863121395, -0.009425622444829649, 0.005446457842219553, -0.0032120742206072908, 0.0019229162321227923,
    -0.001164411377219605, 0.0007115202752051298, -0.00043803516132580534, 0.00027130273545114005,
    -0.0001685717945035172, 0.00010541715222185904, -6.793733027397047e-05, 4.281642862794779e-05,
    -2.148770252062576e-05, 1.3584275459130943e-05, -1.8527803997032962e-05, 1.1820969445467145e-05)
# what Stirling's formula lacks, times z, by 1 / z^2 in [0, 1/9]
_STIRLING = (0.0833333333333331, -0.0027777777774133715, 0.0007936506858496185, -0.0005952253389772346,
    0.0008409629833701917, -0.001888555143539566, 0.005723844381518589, -0.018413210820548358, 0.046418397525377485,
    -0.06052133226994326)
# digamma(y) / (y - its zero) by y - 1.5 in [-0.5, 0.5]
_DIGAMMA_ONE_TWO = (0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884,
    0.09498872445494122, -0.061922133273064534, 0.04076083381242074, -0.02697579675613825, 0.0179072524394512,
    -0.011908218001568644, 0.007926944646403797, -0.005279964873257405, 0.003519006401502276, -0.002345267632540769,
    0.0015566317474486838, -0.0010376374098418604, 0.0007233266279287554, -0.0004821990530566789,
    0.0002272331660987376, -0.00015148586836773365, 0.00025968482126430747, -0.00017312261802727394)
# (log z - 1 / 2z - digamma(z)) z^2 by 1 / z^2 in [0, 1/9]
_DIGAMMA_TAIL = (0.08333333333333277, -0.008333333332272298, 0.003968253589529314, -0.00416661216010324,
    0.007571622869454183, -0.02090360696172205, 0.0776647256777621, -0.3249613335669202, 1.219328137325485,
    -3.2119211971312565, 4.140216803601322)
# erfc(x) exp(x^2) / t by (t - 0.58) / 0.42 in [-1, 1], where t = 2 / (2 + x)
_ERFC = (0.5694087224338755, 0.32718793137529273, 0.10352099464830214, 0.0063079198108090566,
    -0.006327361839767042, -0.0006719627202846783, 0.0006252971216827459, 2.8503622712590154e-06,
    -7.152746193763236e-05, 1.4116682485527146e-05, 6.257313363276409e-06, -3.419833246877239e-06,
    -1.9549801194839763e-07, 3.7761804257564386e-07)
# (i0e(x) - 1) / x by x / 0.375 - 1 in [-1, 1]
_I0E_FIRST = (-0.7688933607440247, 0.18837365827539526, -0.036251413475839885, 0.005653466622448788,
    -0.0007369921973251739, 8.232201796535186e-05, -8.033135571865004e-06, 6.953915937155929e-07,
    -5.4064644979418526e-08, 3.813582236670711e-09, -2.461208487398638e-10, 1.463637467837476e-11,
    -8.069789075528385e-13, 4.180680563951022e-14, -2.0094190656324767e-15)
# i0e(x) by (x - 1.875) / 1.125 in [-1, 1]
_I0E_SECOND = (0.32081213113441504, -0.11688535448734248, 0.05828753588659797, -0.02758185913010957,
    0.011533262901130065, -0.004209720278562737, 0.00134801950626604, -0.00038234075241744064,
    9.703238934396606e-05, -2.2242036688498876e-05, 4.6435284852308e-06, -8.894270469683123e-07,
    1.5730067290435028e-07, -2.583048001992603e-08, 3.957901314249336e-09, -5.682749798502691e-10,
    7.659036509977613e-11, -9.768954728126724e-12, 1.2574742293867186e-12, -1.4331258947535534e-13)
# by x / 2.5 - 2.2 in [-1, 1]
_I0E_NEAR = (0.17448325638192988, -0.0419556184129334, 0.015286200000085503, -0.006270762265547143,
    0.002738428604238569, -0.0012401676501651068, 0.0005696783093703868, -0.0002597681512495501,
    0.00011539157461081525, -4.9231146968822024e-05, 1.998719511310422e-05, -7.681121526479258e-06,
    2.7875452609556898e-06, -9.548321409982619e-07, 3.0891047594646875e-07, -9.451591901881025e-08,
    2.7389479041214736e-08, -7.53587763308279e-09, 1.9788715010597522e-09, -4.928786810029995e-10,
    1.1244677003457813e-10, -2.575063508198573e-11, 7.455387695873174e-12, -1.53007201200398e-12)
# times sqrt(x), by 16 / x - 1 in [-1, 1]
_I0E_FAR = (0.4021765094450081, 0.003360551983667854, 0.00013621607439232746, 1.1143033791556743e-05,
    1.4838475473607391e-06, 2.973598432479169e-07, 8.87225351128584e-08, 3.932602459703109e-08,
    2.1545177650836005e-08, 7.553516470355896e-09, -6.729724111923548e-09, -1.3404241991980871e-08,
    -5.4685974495866e-09, 7.540601378890834e-09, 7.58022133915272e-09, -3.4857887470034955e-09,
    -6.188265090497361e-09, 1.497880830187091e-09, 3.881151253996067e-09, -5.562201990080394e-10,
    -1.7789375042917173e-09, 1.4672236659214398e-10, 5.181936971288284e-10, -1.9216763724933513e-11,
    -7.06893851181878e-11)
# (i1e(x) / x - 1/2) / x by x / 0.375 - 1 in [-1, 1]
_I1E_FIRST = (-0.4007446239832086, 0.08361974519930425, -0.013591746488928804, 0.0018156064841377809,
    -0.00020602994514531568, 2.0325243313976002e-05, -1.7734442266178086e-06, 1.387054014018072e-07,
    -9.829420108258033e-09, 6.367204014312835e-10, -3.798000588818613e-11, 2.0991783912573183e-12,
    -1.0809119006407375e-13, 5.247433728529176e-15, -2.3748671090159385e-16)
# i1e(x) by (x - 1.875) / 1.125 in [-1, 1]
_I1E_SECOND = (0.21691403825677727, -0.013263068466723883, -0.015264088460360894, 0.013425297851686918,
    -0.007176605003592921, 0.0029797170881760765, -0.0010309896198901765, 0.0003076673497002968,
    -8.090390414589904e-05, 1.9033771526544887e-05, -4.053091585975356e-06, 7.884482777535505e-07,
    -1.4118477141749157e-07, 2.342097262108067e-08, -3.6192066473248947e-09, 5.233720045388116e-10,
    -7.096805518446829e-11, 9.09987217234332e-12, -1.1773511290480146e-12, 1.3471387520029732e-13)
# by x / 2.5 - 2.2 in [-1, 1]
_I1E_NEAR = (0.15770100901675652, -0.02972665841286501, 0.007761285281428913, -0.0018892764987646377,
    0.0002580933039091238, 0.00012706029230151602, -0.0001576725141412731, 0.00010948488779240164,
    -6.18405543661089e-05, 3.071763143678864e-05, -1.3809740155533405e-05, 5.699104596499056e-06,
    -2.177580164518383e-06, 7.750419273561296e-07, -2.581884180688002e-07, 8.082130874667534e-08,
    -2.3850205384092884e-08, 6.659515082388873e-09, -1.7703676701974304e-09, 4.4540407877783843e-10,
    -1.0237192035935947e-10, 2.362170073240381e-11, -6.904556408085817e-12, 1.424140524934888e-12)
# times sqrt(x), by 16 / x - 1 in [-1, 1]
_I1E_FAR = (0.38939845902587233, -0.009749577193235728, -0.00021923576383430274, -1.5038547201176271e-05,
    -1.8349101134666435e-06, -3.483855609009937e-07, -1.0001323461066435e-07, -4.312935369971356e-08,
    -2.337059627111857e-08, -8.426622829598154e-09, 6.715795128085017e-09, 1.4029693589852716e-08,
    6.040877342160988e-09, -7.630751970065577e-09, -8.044231276166508e-09, 3.406636130196794e-09,
    6.4870195719816896e-09, -1.4171698018664596e-09, -4.047785403711858e-09, 5.146498826087142e-10,
    1.8513716745511988e-09, -1.342266320082222e-10, -5.388285995923524e-10, 1.7502497778701306e-11,
    7.347992441734663e-11)
# erf_inv(x) / x by w = -log(1 - x^2) in [0, 5], and its value at 0 in two parts; to 2^-26, for f32
_ERF_INV_ZERO, _ERF_INV_ZERO_LOW = 0.8862269520759583, -2.7874790031745533e-08
_ERF_INV_NEAR = (0.23201371276215604, 0.011549165116928104, -0.0023352705948701527, -0.00012653947431268868,
    4.404880432626899e-05, 4.150663236592616e-06, -2.0082713391637707e-06, 2.243043015262031e-07,
    -8.931925970244222e-09)
# the same by (sqrt(w) - 3.125) / 0.9 in [-1, 1]
_ERF_INV_FAR = (2.9583201265287262, 0.9033468175620318, 0.0057099785339024866, -0.003864186171906293,
    0.0024797058098058834, -0.0014898754371738456, 0.0006991577740405088, -0.00015245089145829224,
    -7.6262898194246e-05, 4.891612699120466e-05)
# erf_inv(x) / x - 1 by w / 2.5 - 1 in [-1, 1], where w = -log(1 - x^2)
_ERF_INV_OF_DOUBLE_NEAR = (0.5014093511107919, 0.6166006918604175, -0.02610823577739765,
    -0.019573561059547377, 0.008525400950939892, -0.0004878983983252155, -0.0008341356436926482,
    0.0002921906851342163, 2.0472417839420812e-05, -4.1432071450377935e-05, 8.652721877484876e-06,
    2.851652817060834e-06, -1.853870554105327e-06, 1.3583392473566449e-07, 1.9953933232996815e-07,
    -7.08985061397636e-08, -6.70810932648382e-09, 1.1040417909061025e-08, -1.9880707100189075e-09,
    -9.760204713196851e-10, 4.4650677608736676e-10, 3.867417238765463e-11, -3.9169363297916484e-11)
# erf_inv(x) / x - 2 by (sqrt(w) - 3) / 0.8 in [-1, 1]
_ERF_INV_OF_DOUBLE_FAR = (0.8329767987282707, 0.8013402213547199, 0.006045134087670763,
    -0.003913628451874598, 0.0023286507184660378, -0.001166145623097675, 0.0003889528409789502,
    -3.122619539354347e-05, -4.750038749554953e-05, 2.7583967593878945e-05, -4.988675228276617e-06,
    -1.964769941159953e-06, 1.5073704491341245e-06, -3.2700932410435975e-07, -7.270446285564424e-08,
    7.039912765784744e-08, -1.813102956438938e-08, -1.8015889197698005e-09, 3.0385409986797577e-09,
    -9.337955108244688e-10, -4.582752518003574e-11, 1.1119781684664912e-10, -2.3070074289446492e-11)
# erf_inv(x) / x - 4 by (sqrt(w) - 5) / 1.2 in [-1, 1]
_ERF_INV_OF_DOUBLE_FARTHEST = (0.8499064014085843, 1.212360557837454, -0.00019975581846791866,
    -0.0003715720470119593, 0.0001575838086785261, -4.8974544937536775e-05, 1.3514720219922292e-05,
    -3.5581893811049173e-06, 9.848862865040125e-07, -3.4866430430625725e-07, 1.7967365253017553e-07,
    -1.1302182052691028e-07, 6.973355639210824e-08, -3.7859821033848676e-08, 1.692047795724113e-08,
    -5.78482965180063e-09, 1.2377437442410158e-09, 2.390108983130474e-10, -4.990245389178832e-10,
    2.4087012613194394e-10, -1.5355920267191713e-11, -1.3763712290383919e-11)
# erf(x) / x - 1 by 8 x^2 - 1 in [-1, 1]
_ERF_OF_DOUBLE = (0.0830752376761713, -0.04364205888669792, 0.0016130716680617086, -4.762336934468491e-05,
    1.151603779513705e-06, -2.347229163519518e-08, 4.1270254211564467e-10, -6.3744178527620835e-12,
    8.774530700097397e-14, -1.0890239994332592e-15, 1.2307154179828511e-17)
# log(2 erfc(x) exp(x^2)) + 7/16 by x - 1.5 in [-1, 1]
_ERFC_LOG_NEAR = (-0.003844908991607408, -0.5088008017795277, 0.10735966938496269, -0.02582414063364287,
    0.006006746386461114, -0.0012572166868834935, 0.00021596330480481526, -2.247368719594483e-05,
    -2.6468343369920474e-06, 2.37083410917227e-06, -8.187621752424452e-07, 1.9261081977263961e-07,
    -2.7865255708797214e-08, -1.0871032449038644e-09, 2.3866266745485255e-09, -9.727701193687963e-10,
    2.7546908446103097e-10, -4.7804843907796947e-11, -7.1780922326247435e-12, 4.909297905953696e-12)
# log(2 x erfc(x) exp(x^2)) - 1/8 by (t - 0.16009852216748768) / 0.12561576354679804 in [-1, 1], where t = 1 /
# (1 + x)
_ERFC_LOG_FAR = (-0.021625528158770984, -0.03121431848102687, -0.016984420884700348, -0.0025737566388099402,
    2.3696245898912628e-06, 2.84375133703031e-05, -8.785091905543188e-06, -1.8300208441431304e-06,
    4.6744901975126725e-07, 3.7755184388049724e-08, -3.719469087426129e-08, 2.140877906358237e-09,
    2.281500637292702e-09, -5.616311857110436e-10, -7.817752439373655e-11, 6.125595926228986e-11,
    -5.696954821325905e-12, -3.676884509939943e-12, 9.684302327043855e-13)

# lgamma(y) / ((y - 1) (y - 2)) - 1/2 by 2 (y - 1.25) in [-1, 1]
_LGAMMA_ONE = (0.02411646091633686, -0.09227919221840807, 0.023641434508252714, -0.007034175909223237,
    0.0022599248734637505, -0.000759650157562379, 0.0002629324856327497, -9.28768601688608e-05,
    3.330124003859665e-05, -1.2078063783833037e-05, 4.420780101078745e-06, -1.6302122584958036e-06,
    6.049353488400086e-07, -2.2567137216462282e-07, 8.45463199329362e-08, -3.181223972857897e-08,
    1.2068246063955004e-08, -4.5718438406989944e-09, 1.6602257284843234e-09, -6.318441112509806e-10,
    3.1199921619457327e-10, -1.19611512490564e-10, 3.5392122350654838e-12, -1.2601300063181766e-12,
    1.519600058014126e-11, -5.868092234593264e-12)
# the same by (y - 2.375) / 0.625 in [-1, 1]
_LGAMMA_TWO = (-0.11076662229826746, -0.04996129234397283, 0.008733857400935133, -0.0017348402320075814,
    0.000369338183112382, -8.208021947503273e-05, 1.877476607864417e-05, -4.383311068428613e-06,
    1.0390024066388e-06, -2.4915926007180913e-07, 6.029946918971764e-08, -1.4701482944051798e-08,
    3.6061831230861264e-09, -8.888762485380513e-10, 2.2010347938601667e-10, -5.4993632252830254e-11,
    1.3714554131986981e-11, -3.202244780633872e-12, 8.024376389524852e-13, -3.028104135066123e-13,
    7.635319990294102e-14)
# lgamma(y) / ((y - 1) (y - 2)) - 1/4 by (y - 5.5) / 2.5 in [-1, 1]
_LGAMMA_FOUR = (0.0012897757218232567, -0.06336905669727538, 0.020302539366774574, -0.007183649765983732,
    0.0026869967170807547, -0.001041656702509444, 0.0004140416069024615, -0.00016764138178781168,
    6.884457318014323e-05, -2.8590106908677517e-05, 1.198079592502552e-05, -5.058042909586925e-06,
    2.1486485728347565e-06, -9.175626322499385e-07, 3.9375177789923016e-07, -1.6956210042149568e-07,
    7.289303506287201e-08, -3.158595620150003e-08, 1.4365495206946706e-08, -6.260465277041588e-09,
    1.9557995481725062e-09, -8.515191927268037e-10, 1.0181637372230135e-09, -4.4867903146960797e-10,
    -1.5353215742939389e-10, 6.821544742948355e-11, 8.214767440104776e-11, -3.631506921863987e-11)
# what Stirling's formula lacks, times z, by 128 / z^2 - 1 in [-1, 1]
_STIRLING_OF_DOUBLE = (0.08331168010429436, -2.1605346910992958e-05, 4.760738262245738e-08,
    -2.718192092356002e-10, 2.8769106446195226e-12, -4.804143697256669e-14, 1.1522352142903922e-15,
    -3.704737998593387e-17)
# digamma(y) / (y - its zero) - 1 by (y - 1.375) / 0.625 in [-1, 1]
_DIGAMMA_ONE = (0.008082883211148603, -0.30721591892073874, 0.11971782786747026, -0.05064264544639973,
    0.02219338188830678, -0.009893504838635332, 0.004449383666806201, -0.0020104688143213925,
    0.000910792331871208, -0.0004132084354941955, 0.00018761748216005353, -8.522737514446588e-05,
    3.872601254945798e-05, -1.7599083273945135e-05, 7.997672491209746e-06, -3.6350543000651546e-06,
    1.6550281221715049e-06, -7.522681478082853e-07, 3.3604950618203644e-07, -1.5274857473934698e-07,
    7.835278445244699e-08, -3.561481890540925e-08, 6.532763784014145e-09, -2.9694323445382386e-09,
    8.62655142875793e-09, -3.921159331509719e-09, -1.8448653451657963e-09, 8.385751794955509e-10,
    6.935584618493882e-10, -3.1525384303860074e-10)
# digamma(y) / (y - its zero) - 1/2 by (y - 5) / 3 in [-1, 1]
_DIGAMMA_FOUR = (-0.07434678073675474, -0.17324111446092388, 0.08483277052523205, -0.04467401106516753,
    0.024462906617461755, -0.013723605014467032, 0.007825095353546923, -0.0045134753828225795,
    0.002625442488482631, -0.0015369454274951901, 0.0009041442834456062, -0.000533917575650052,
    0.00031623814350505017, -0.00018773670191082252, 0.00011167643698838674, -6.664394718279803e-05,
    3.975532931743702e-05, -2.327906314671868e-05, 1.3911451022235528e-05, -9.773561442556316e-06,
    5.850424853418867e-06, -1.3017576142387468e-08, 4.490330156962701e-09, -6.402484125597757e-06,
    3.840571711041982e-06, 6.658129890955906e-06, -3.994968185075406e-06, -7.1011786646608386e-06,
    4.260538999405245e-06, 4.9300300839983505e-06, -2.957945006185678e-06, -2.4755386312484016e-06,
    1.4852761361440217e-06, 7.510072617296624e-07, -4.505908794497966e-07, -1.1604031069579583e-07,
    6.962161763738613e-08)
# (log z - 1 / 2z - digamma(z)) z^2 by 128 / z^2 - 1 in [-1, 1]
_DIGAMMA_TAIL_OF_DOUBLE = (0.08326846941047238, -6.462561120249055e-05, 2.3640599786122546e-07,
    -1.8797191644556483e-09, 2.5411766921298962e-11, -5.146648671085801e-13, 1.447200468142637e-14,
    -5.318863050027556e-16)

# The four pieces of i0e and i1e, as above, to 2^-31.
_I0E_SHORT = (
    (-0.7688933607440247, 0.1883736581401613, -0.03625141346712312, 0.005653468425050536,
    -0.000736992313520082, 8.231553363816354e-05, -8.032717547810475e-06, 7.040217298447968e-07,
    -5.4621149014324413e-08),
    (0.32081213113493207, -0.11688535448741616, 0.058287535835941186, -0.027581859122890833,
    0.011533263710828051, -0.004209720393959726, 0.001348014657752911, -0.0003823400612625532,
    9.704619371488236e-05, -2.2244005260906107e-05, 4.6234103167685174e-06, -8.865560838662101e-07,
    1.7173864747644986e-07, -2.7893885979042408e-08),
    (0.17448325638192988, -0.04195561852952662, 0.015286200032925178, -0.006270757921545167,
    0.0027384273804793827, -0.0012402143321480078, 0.0005696914662560115, -0.0002595478243947597,
    0.00011532942700214105, -4.976166158247209e-05, 2.0137043943912366e-05, -7.005079388110013e-06,
    2.5961193872154718e-06, -1.380795503341333e-06, 4.301550654461964e-07),
    (0.4021765094450081, 0.003360552227107552, 0.00013621634810372812, 1.1139924003904079e-05,
    1.4801668682355922e-06, 3.071251794715818e-07, 1.0222957952124411e-07, 3.173468265128346e-08,
    3.21343456778252e-09),
)
_I1E_SHORT = (
    (-0.4007446239832086, 0.08361974517675289, -0.013591746487584992, 0.0018156067847485335,
    -0.00020602996305900273, 2.0324161837434652e-05, -1.7733797745064443e-06, 1.4014512941568256e-07,
    -9.91524094230217e-09),
    (0.2169140382563041, -0.013263068466655984, -0.015264088413997692, 0.013425297845034045,
    -0.007176605744652664, 0.002979717194526244, -0.0010309851825012627, 0.00030766671274279003,
    -8.091653741446914e-05, 1.9035585668540293e-05, -4.034681677872145e-06, 7.858027035500359e-07,
    -1.5439449969045317e-07, 2.532213464987969e-08),
    (0.15770100901675652, -0.029726658312216193, 0.007761285252630693, -0.0018892802484925253,
    0.0002580943770170799, 0.0001271005821605082, -0.00015768405007813568, 0.00010929477966358901,
    -6.17860741351583e-05, 3.117518075215488e-05, -1.3941057722474723e-05, 5.116508396635897e-06,
    -2.0099279000753885e-06, 1.1415001675270951e-06, -3.6423950575230755e-07),
    (0.38939845902587233, -0.009749577441134048, -0.00021923605339011808, -1.5035390362454545e-05,
    -1.8310212382191527e-06, -3.581953648145277e-07, -1.1423534161320156e-07, -3.5904638329365215e-08,
    -4.2368978067496745e-09),
)
_I0E = (_I0E_FIRST, _I0E_SECOND, _I0E_NEAR, _I0E_FAR)
_I1E = (_I1E_FIRST, _I1E_SECOND, _I1E_NEAR, _I1E_FAR)

_FIRST_ZERO, _FIRST_ZERO_LOW = 1.4616321449683622, 9.549995429965697e-17  # of digamma, in two parts


def _polynomial(x, coefficients):
    total = lax.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def _by_thirds(z, below_one, below_two, below_three):
    return lax.select(z < 1, below_one, lax.select(z < 2, below_two, below_three))


def _is_infinite(x):
    return lax.abs(x) == math.inf


def _times_power_of_two(x, whole):
    """x * 2^whole, where neither of two factors leaves the normal numbers, and what is none is rounded once."""
    single = x.dtype == np.float32
    integer, bias, mantissa = (np.int32, 127, 23) if single else (np.int64, 1023, 52)
    exponent = lax.convert_element_type(whole, integer)
    half = exponent >> 1

    def power(n):
        return lax.bitcast_convert_type((n + bias) << mantissa, x.dtype)

    return x * power(half) * power(exponent - half)


# The first part has so few bits that its product with an exponent is exact.
_LOG_TWO, _LOG_TWO_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")


def _log_in_parts(z):
    """log z = high + low for z >= 0, where for z >= 8 the low part is below 0.4 and the sum has more digits than a double."""
    bits = lax.bitcast_convert_type(z, np.int64)
    exponent = lax.shift_right_arithmetic(bits - 0x3FE6A09E667F3BCD, lax.full_like(bits, 52))  # of z / sqrt(1/2)
    exponent = lax.select(z < 8, lax.full_like(bits, 0), exponent)
    reduced = lax.bitcast_convert_type(bits - (exponent << 52), z.dtype)
    twos = lax.convert_element_type(exponent, z.dtype)
    return twos * _LOG_TWO, lax.select(_is_infinite(z), z, lax.log(reduced) + twos * _LOG_TWO_LOW)


def erfc(x):
    a = lax.clamp(lax.full_like(x, 0.0), lax.abs(x), lax.full_like(x, 30.0))  # exp(-900) is 0 in any float of 32 bits
    t = 2 / (2 + a)
    positive = lax.exp(-a * a) * t * _polynomial((t - 0.58) * (1 / 0.42), _ERFC)
    return lax.select(x < 0, 2 - positive, positive)


def erfc_of_double(x):
    """erfc of an argument that was f64 from the beginning."""
    a = lax.clamp(lax.full_like(x, 0.0), lax.abs(x), lax.full_like(x, 30.0))
    # erfc(a) = exp(-a^2 + near) / 2 = exp(-a^2 + far) / 2a, where -a^2 = -c^2 + (c - a) (c + a), and `high` is exact. What
    # is left of the exponent after a multiple of log 2 is rounded once.
    c = lax.convert_element_type(lax.convert_element_type(a, np.float32), np.float64)
    is_near = a < 2.5
    near = _polynomial(a - 1.5, _ERFC_LOG_NEAR)
    far = _polynomial((1 / (1 + a) - 0.16009852216748768) * (1 / 0.12561576354679804), _ERFC_LOG_FAR)
    high = lax.select(is_near, lax.full_like(a, -7 / 16), lax.full_like(a, 1 / 8)) - c * c
    low = (c - a) * (c + a) + lax.select(is_near, near, far)
    twos = lax.round((high + low) * (1 / math.log(2)), lax.RoundingMethod.TO_NEAREST_EVEN)
    power = lax.exp((high - twos * _LOG_TWO) + (low - twos * _LOG_TWO_LOW))
    tail = _times_power_of_two(power / lax.select(is_near, lax.full_like(a, 2.0), 2 * a), twos)
    erf = x + x * _polynomial(8 * x * x - 1, _ERF_OF_DOUBLE)
    return lax.select(lax.abs(x) < 0.5, 1 - erf, lax.select(x < 0, 2 - tail, tail))


def erf_inv(x):
    """In f32, which is enough, and random normal numbers are made of it."""
    w = -lax.log((1 - x) * (1 + x))
    near = w * _polynomial(w, _ERF_INV_NEAR) + _ERF_INV_ZERO_LOW + _ERF_INV_ZERO
    far = _polynomial((lax.sqrt(w) - 3.125) * (1 / 0.9), _ERF_INV_FAR)
    return lax.select(lax.abs(x) == 1, x * math.inf, x * lax.select(w < 5, near, far))


def erf_inv_of_double(x):
    """erf_inv of an argument that was f64 from the beginning."""
    w = -lax.log((1 - x) * (1 + x))
    root = lax.sqrt(w)
    near = _polynomial(w * 0.4 - 1, _ERF_INV_OF_DOUBLE_NEAR)
    far = _polynomial((root - 3) * 1.25, _ERF_INV_OF_DOUBLE_FAR)
    farthest = _polynomial((root - 5) * (1 / 1.2), _ERF_INV_OF_DOUBLE_FARTHEST)
    is_near, is_far = w < 5, w < 3.8 * 3.8
    whole = lax.select(is_near, x, lax.select(is_far, 2 * x, 4 * x))
    value = whole + x * lax.select(is_near, near, lax.select(is_far, far, farthest))
    return lax.select(lax.abs(x) == 1, x * math.inf, value)


def _to_one_two(z):
    """y - 1 for a y in [1, 2) that is a whole number from z, which is in (0, 3)."""
    return _by_thirds(z, z, z - 1, z - 2)


def lgamma(x):
    z = lax.abs(x)
    low = _to_one_two(z)
    log = lax.log(lax.select(z < 3, _by_thirds(z, z, lax.full_like(z, 1.0), z - 1), z))
    below_two = low * (low - 1) * _polynomial(low - 0.5, _LGAMMA_ONE_TWO)
    near = below_two + lax.select(z < 1, -log, log)
    far = (z - 0.5) * log - z + 0.5 * math.log(2 * math.pi) + _polynomial(1 / (z * z), _STIRLING) / z
    positive = lax.select(z < 3, near, far)
    # gamma(-z) gamma(1 + z) = -pi / sin(pi z), where gamma(1 + z) = z gamma(z) is not needed of a small z.
    sine = lax.abs(lax.sin(math.pi * (z - lax.round(z, lax.RoundingMethod.TO_NEAREST_EVEN))))
    inverse = -lax.log(lax.select(z < 1, sine, sine * z * (1 / math.pi)))
    negative = inverse + lax.select(z < 1, math.log(math.pi) - below_two, -positive)
    return lax.select(_is_infinite(z), z, lax.select(x < 0, negative, positive))


def digamma(x):
    z = lax.abs(x)
    low = _to_one_two(z)
    shift = 1 / lax.select(z < 1, -z, lax.select(z < 2, lax.full_like(z, math.inf), z - 1))
    near = (low + (1 - _FIRST_ZERO) - _FIRST_ZERO_LOW) * _polynomial(low - 0.5, _DIGAMMA_ONE_TWO) + shift
    inverse = 1 / z
    far = lax.log(z) - 0.5 * inverse - _polynomial(inverse * inverse, _DIGAMMA_TAIL) * inverse * inverse
    positive = lax.select(z < 3, near, far)
    return _digamma_of_any(x, z, positive)


def _digamma_of_any(x, z, positive):
    """digamma(x) from that of z = |x|: digamma(-z) = digamma(z) + 1/z + pi cot(pi z)."""
    turn = z - lax.round(z, lax.RoundingMethod.TO_NEAREST_EVEN)
    # The cosine as a sine, whose argument is exact but for pi: it keeps its digits where it is small.
    cotangent = math.pi * lax.sin(math.pi * (0.5 - lax.abs(turn))) / lax.sin(math.pi * turn)
    negative = lax.select(turn == 0, lax.full_like(z, math.nan), positive + 1 / z + cotangent)
    return lax.select(x > 0, positive, lax.select(x == 0, -1 / x, negative))


def lgamma_of_double(x):
    """lgamma of an argument that was f64 from the beginning."""
    z = lax.abs(x)
    high, low = _log_in_parts(z)
    log, zero, small = high + low, lax.full_like(z, 0), z < 0.75
    one, two = lax.select(small, z, z - 1), lax.select(small, z - 1, z - 2)  # y - 1 and y - 2, where y = z + 1 if that is small
    middle = lax.select(z < 3, _polynomial((z - 2.375) * 1.6, _LGAMMA_TWO), _polynomial((z - 5.5) * 0.4, _LGAMMA_FOUR))
    near = lax.select(z < 1.75, _polynomial((one - 0.25) * 2, _LGAMMA_ONE), middle)
    near = one * two * lax.select(z < 3, lax.full_like(z, 0.5), lax.full_like(z, 0.25)) + one * two * near
    # gamma(-z) gamma(1 + z) = -pi / sin(pi z)
    left = x < 0
    sine = lax.abs(lax.sin(math.pi * (z - lax.round(z, lax.RoundingMethod.TO_NEAREST_EVEN))))
    reflected = math.log(math.pi) - lax.log(sine)
    half = lax.select(left, lax.full_like(z, 0.5), lax.full_like(z, -0.5))
    rest = 0.5 * math.log(2 * math.pi) + half + _polynomial(128 / (z * z) - 1, _STIRLING_OF_DOUBLE) / z
    far = (z + half) * (high - 1) + ((z + half) * low + (rest - lax.select(left, reflected, zero)))
    near = near + lax.select(left == small, zero, lax.select(left, log, -log)) - lax.select(left, reflected, zero)
    value = lax.select(z < 8, near, far)
    return lax.select(_is_infinite(z), z, lax.select(left, -value, value))


def digamma_of_double(x):
    """digamma of an argument that was f64 from the beginning."""
    z = lax.abs(x)
    inverse = 1 / z
    small = z < 0.75
    less = lax.select(small, z, z - 1)  # y - 1, where y = z + 1 if that is small
    one = less + (1 - _FIRST_ZERO) - _FIRST_ZERO_LOW
    one = one + one * _polynomial((less - 0.375) * 1.6, _DIGAMMA_ONE) - lax.select(small, inverse, lax.full_like(z, 0))
    four = z - _FIRST_ZERO - _FIRST_ZERO_LOW
    four = 0.5 * four + four * _polynomial((z - 5) * (1 / 3), _DIGAMMA_FOUR)
    square = inverse * inverse
    high, low = _log_in_parts(z)
    far = high + (low - (0.5 * inverse + _polynomial(128 * square - 1, _DIGAMMA_TAIL_OF_DOUBLE) * square))
    return _digamma_of_any(x, z, lax.select(z < 2, one, lax.select(z < 8, four, far)))


def _bessel_i0e(x, pieces):
    a = lax.abs(x)
    return _bessel(a, 1 + a * _polynomial(a * (1 / 0.375) - 1, pieces[0]), pieces)


def _bessel_i1e(x, pieces):
    a = lax.abs(x)
    return jnp.copysign(_bessel(a, a * (0.5 + a * _polynomial(a * (1 / 0.375) - 1, pieces[0])), pieces), x)


def _bessel(a, first, pieces):
    """By four pieces, of which `first` is that next to zero; a >= 0."""
    _, second, near, far = pieces
    large = _polynomial(16 / a - 1, far) / lax.sqrt(a)
    middle = lax.select(a < 3, _polynomial((a - 1.875) * (1 / 1.125), second), _polynomial(a * 0.4 - 2.2, near))
    return lax.select(a < 0.75, first, lax.select(a < 8, middle, large))


def bessel_i0e(x):
    return _bessel_i0e(x, _I0E_SHORT)


def bessel_i1e(x):
    return _bessel_i1e(x, _I1E_SHORT)


def bessel_i0e_of_double(x):
    """i0e of an argument that was f64 from the beginning."""
    return _bessel_i0e(x, _I0E)


def bessel_i1e_of_double(x):
    """i1e of an argument that was f64 from the beginning."""
    return _bessel_i1e(x, _I1E)


def exp2(x):
    """Of f32 and f64, in their own type."""
    limit = 200.0 if x.dtype == np.float32 else 1100.0
    x = lax.clamp(lax.full_like(x, -limit), x, lax.full_like(x, limit))  # NaN stays
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    return _times_power_of_two(lax.exp((x - whole) * math.log(2)), whole)


# Of complex numbers, with the parts of an array that is c128.


def logistic(z):
    """No exponential overflows."""
    left = lax.real(z) < 0
    e = lax.exp(lax.select(left, z, -z))
    return lax.select(left, e, lax.full_like(z, 1)) / (1 + e)


def sinh(z):
    return _hyperbolic(z, lax.sinh, lax.cosh)


def cosh(z):
    return _hyperbolic(z, lax.cosh, lax.sinh)


def sin(z):
    turned = sinh(lax.complex(-lax.imag(z), lax.real(z)))
    return lax.complex(lax.imag(turned), -lax.real(turned))


def cos(z):
    return cosh(lax.complex(-lax.imag(z), lax.real(z)))


def _hyperbolic(z, real, other):
    """f(x) cos y + i g(x) sin y: (sinh, cosh) and (cosh, sinh). Where exp(x) is infinite its root is not."""
    x, y = lax.real(z), lax.imag(z)
    cos, sin = lax.cos(y), lax.sin(y)
    root = lax.exp(0.5 * lax.abs(x))
    big = lax.abs(x) > 700

    def times(f, factor):
        large = 0.5 * root * factor * root
        if f is lax.sinh:
            large = lax.select(x < 0, -large, large)
        # sinh(0) times what is no number is 0, and so is infinity times sin(0).
        product = lax.select(big & ~_is_infinite(x), large, f(x) * factor)
        return lax.select((x == 0) & (factor != factor), x, product) if f is lax.sinh else product

    on_axis = y if other is lax.cosh else jnp.copysign(y, x) * jnp.copysign(1, y)
    # An infinite x has no angle where y has none, but it is infinite.
    lost = _is_infinite(x) & ~lax.is_finite(y)
    imaginary = lax.select(y == 0, on_axis, times(other, sin))
    return lax.complex(lax.select(lost, lax.abs(x), times(real, cos)), imaginary)
